//! Properties of any text at any place of a frame.

mod choice;
mod documentation;
mod page;
mod sanitizer;
