//! The JSON Schema of a spec, for editors, made from the catalog.

use serde_json::{Map, Value, json};

use super::catalog::{
    BASELINE, CLAIM, CONFIRM, CUSTOM_RULE, DISTRIBUTIONS, Default, EXPERIMENT, Field, INFORMATION,
    Kind, METHODS, MODELS, OPTIMIZE, PARAMETER, POLICIES, PUBLISHED, REPLICATIONS, RIVAL, RULES,
    SELECT, Takes, UNTIL, WARMUP,
};
use super::optimize::MAX_PARAMETERS;

/// Returns the JSON Schema (draft 2020-12) of a spec. Numbers may be swept wherever they stand.
pub fn schema() -> Value {
    let mut schema = map(&EXPERIMENT, false);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("balancelab spec");
    schema["$defs"] = json!({
        "axis": axis(),
        "model": kinds(MODELS, true),
        "policy": kinds(POLICIES, true),
        "distribution": kinds(DISTRIBUTIONS, true),
        "rule": {"anyOf": [{"enum": RULES}, kinds(&[CUSTOM_RULE], true)]},
        "claim": map(&CLAIM, false),
        "search": one_of(map(&OPTIMIZE, false), ["minimize", "maximize"]),
    });
    schema
}

fn axis() -> Value {
    let three = json!({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3});
    json!({
        "type": "object",
        "description": "a swept field",
        "properties": {
            "values": {"type": "array", "minItems": 1, "description": "the values"},
            "linspace": three, "logspace": three, "step": three,
            "axis": {"type": "string", "description": "axes that share a name move together"},
        },
        "additionalProperties": false,
        "oneOf": [
            {"required": ["values"]}, {"required": ["linspace"]},
            {"required": ["logspace"]}, {"required": ["step"]},
        ],
    })
}

/// One of several kinds: `name: {fields}`, a bare name or a bare value where that is possible.
fn kinds(kinds: &[Kind], may_be_swept: bool) -> Value {
    let forms = kinds.iter().flat_map(|kind| {
        let mut value = vec![map(kind, may_be_swept)];
        if let Some(field) = kind.bare() {
            let bare = takes(&field.takes);
            value.push(if may_be_swept { swept(bare) } else { bare });
            if kind.name == "empirical" {
                value.push(json!({"type": "string"}));
            }
        }
        let named = json!({
            "type": "object",
            "description": kind.about,
            "properties": {kind.name: {"anyOf": value}},
            "required": [kind.name],
            "additionalProperties": false,
        });
        let plain = kind.fields.iter().all(|field| field.default != Default::Required);
        std::iter::once(named).chain(plain.then(|| json!({"const": kind.name})))
    });
    let mut forms: Vec<Value> = forms.collect();
    if may_be_swept {
        forms.push(json!({"$ref": "#/$defs/axis"}));
    }
    json!({"anyOf": forms})
}

fn map(kind: &Kind, may_be_swept: bool) -> Value {
    let mut properties = Map::new();
    for field in kind.fields {
        let schema = takes(&field.takes);
        let mut schema = if may_be_swept { swept(schema) } else { schema };
        schema["description"] = json!(described(field));
        properties.insert(field.name.to_owned(), schema);
    }
    let required: Vec<&str> = kind
        .fields
        .iter()
        .filter(|field| field.default == Default::Required)
        .map(|field| field.name)
        .collect();
    json!({
        "type": "object",
        "description": kind.about,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Of two fields one must be given.
fn one_of(mut schema: Value, fields: [&str; 2]) -> Value {
    schema["oneOf"] = fields.iter().map(|field| json!({"required": [field]})).collect();
    schema
}

fn described(field: &Field) -> String {
    let unit = if field.unit.is_empty() { String::new() } else { format!(" [{}]", field.unit) };
    match field.default {
        Default::Required | Default::Absent => format!("{}{unit}", field.about),
        default => format!("{}{unit}; {default} where left out", field.about),
    }
}

fn swept(schema: Value) -> Value {
    json!({"anyOf": [schema, {"$ref": "#/$defs/axis"}]})
}

fn takes(takes: &Takes) -> Value {
    let number = |min: f64, max: f64, above: bool| {
        let mut schema = json!({"type": "number"});
        if min > f64::MIN {
            schema[if above { "exclusiveMinimum" } else { "minimum" }] = json!(min);
        }
        if max < f64::MAX {
            schema["maximum"] = json!(max);
        }
        schema
    };
    match *takes {
        Takes::Number { min, max, above } => number(min, max, above),
        Takes::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Takes::Flag => json!({"type": "boolean"}),
        Takes::Text => json!({"type": "string"}),
        Takes::Choice(names) => json!({"enum": names}),
        Takes::Distribution => json!({"$ref": "#/$defs/distribution"}),
        Takes::Integers { min_len, min, max } => {
            let item = json!({"type": "integer", "minimum": min, "maximum": max});
            json!({"type": "array", "items": swept(item), "minItems": min_len})
        }
        Takes::Numbers { min_len, min, max, above } => {
            json!({"type": "array", "items": swept(number(min, max, above)), "minItems": min_len})
        }
        Takes::Pair { min, max } => {
            let one = json!({"type": "integer", "minimum": min, "maximum": max});
            let two =
                json!({"type": "array", "items": swept(one.clone()), "minItems": 2, "maxItems": 2});
            json!({"anyOf": [one, two]})
        }
        Takes::Range { min, max, above } => {
            let item = number(min, max, above);
            json!({"type": "array", "items": swept(item), "minItems": 2, "maxItems": 2})
        }
        Takes::Rule => json!({"$ref": "#/$defs/rule"}),
        Takes::Model => json!({"$ref": "#/$defs/model"}),
        Takes::Policies => {
            json!({"type": "array", "items": {"$ref": "#/$defs/policy"}, "minItems": 1})
        }
        Takes::Conditions => {
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
        }
        Takes::Published => map(&PUBLISHED, false),
        Takes::Claims => json!({"type": "array", "items": {"$ref": "#/$defs/claim"}}),
        Takes::Replications => {
            let number = json!({"type": "integer", "minimum": 1, "maximum": u32::MAX});
            json!({"anyOf": [number, map(&REPLICATIONS, false)]})
        }
        Takes::Until => {
            let one = map(&UNTIL, false);
            json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
        }
        Takes::Select => map(&SELECT, false),
        Takes::Warmup => {
            let time = json!({"type": "number", "minimum": 0});
            json!({"anyOf": [time, {"const": "auto"}, map(&WARMUP, true)]})
        }
        Takes::Map(kind) => map(kind, true),
        Takes::Maps(kind) => json!({"type": "array", "items": map(kind, true)}),
        Takes::Information => json!({"anyOf": [{"const": "none"}, map(&INFORMATION, true)]}),
        Takes::Baseline => json!({"anyOf": [{"type": "string"}, map(&BASELINE, false)]}),
        Takes::Levels => json!({"type": "object"}),
        Takes::Optimize => {
            let one = json!({"$ref": "#/$defs/search"});
            json!({"anyOf": [one, {"type": "array", "items": one}]})
        }
        Takes::Over => {
            let one = one_of(map(&PARAMETER, false), ["log", "linear"]);
            let mut schema = json!({"type": "object", "additionalProperties": one});
            (schema["minProperties"], schema["maxProperties"]) = (json!(1), json!(MAX_PARAMETERS));
            schema
        }
        Takes::Start => json!({"type": "object", "additionalProperties": {"type": "number"}}),
        Takes::Method => kinds(METHODS, false),
        Takes::Against => {
            let one = json!({"anyOf": [{"type": "string"}, map(&RIVAL, false)]});
            json!({"type": "array", "items": one})
        }
        Takes::Confirm => {
            let number = json!({"type": "integer", "minimum": 2, "maximum": u32::MAX});
            json!({"anyOf": [number, map(&CONFIRM, false)]})
        }
    }
}
