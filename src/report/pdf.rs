//! Figures as PDF, for whoever writes in LaTeX.
//!
//! A PDF holds the letters it shows, so that a font has to be there.

use std::sync::Arc;

use svg2pdf::usvg::{Options, Tree, fontdb::Database};
use svg2pdf::{ConversionOptions, PageOptions, to_pdf};

/// Fonts that are taken before others.
const FAMILIES: [&str; 5] = ["Helvetica", "Arial", "Liberation Sans", "DejaVu Sans", "Noto Sans"];
/// Pixels in an inch.
const PIXELS: f32 = 96.0;

/// Fonts to draw with.
pub struct Fonts(Options<'static>);

impl Fonts {
    /// Returns those of the system, if there are any.
    pub fn of_system() -> Option<Fonts> {
        let mut all = Database::new();
        all.load_system_fonts();
        let has = |name: &str| {
            all.faces().any(|face| face.families.iter().any(|(family, _)| family == name))
        };
        let any = || all.faces().find_map(|face| Some(face.families.first()?.0.clone()));
        let known = FAMILIES.into_iter().find(|name| has(name)).map(str::to_owned);
        let family = known.or_else(any)?;
        all.set_sans_serif_family(family);
        Some(Fonts(Options { fontdb: Arc::new(all), ..Options::default() }))
    }

    /// Returns an SVG as a PDF.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn pdf(&self, svg: &str) -> Result<Vec<u8>, String> {
        let tree = Tree::from_str(svg, &self.0).map_err(|error| error.to_string())?;
        let page = PageOptions { dpi: PIXELS };
        to_pdf(&tree, ConversionOptions::default(), page).map_err(|error| error.to_string())
    }
}
