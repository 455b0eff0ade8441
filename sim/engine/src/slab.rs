//! Dense numbering of things in flight: a token is an index that is used again.

/// Values by token.
#[derive(Debug)]
pub struct Slab<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// Nothing stored.
    pub fn new() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Stores `value` and names it.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(token) = self.free.pop() {
            self.values[token as usize] = Some(value);
            return token;
        }
        self.values.push(Some(value));
        (self.values.len() - 1) as u32
    }

    /// The value of `token`.
    ///
    /// # Panics
    /// When there is none.
    pub fn get_mut(&mut self, token: u32) -> &mut T {
        self.values[token as usize].as_mut().expect("token in use")
    }

    /// Takes the value of `token` out.
    ///
    /// # Panics
    /// When there is none: an activity ended twice.
    pub fn remove(&mut self, token: u32) -> T {
        let value = self.values[token as usize].take().expect("token in use");
        self.free.push(token);
        value
    }

    /// How many values are stored.
    pub fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}
