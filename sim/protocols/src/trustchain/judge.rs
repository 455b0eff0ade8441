//! What an agent refuses, and why; the rules are at the head of the parent module.
//!
//! Checks run from cheap to dear, and a conflict counts only once the signature
//! holds: no node can be framed for a fork by bytes that it did not sign.

use super::*;

impl<C: Crypto> Agent<C> {
    pub(super) fn judge_proposal(
        &self,
        from: NodeId,
        block: &Block,
        out: &mut Out<C>,
    ) -> Result<(), Reason> {
        let taken = self.places.at(block);
        let same = taken.is_some_and(|place| *place == Place::countersigned(block));
        refuse_if(same, Reason::Duplicate)?;
        refuse_if(block.receiver_pubkey != self.key, Reason::WrongReceiver)?;
        work(out, Operation::Verify, block.signed_bytes(Part::Proposal));
        let authentic = self.is_from(from, block) && block.sender_signed::<C>();
        refuse_if(!authentic, Reason::InvalidSignature)?;
        refuse_if(taken.is_some(), Reason::Fork)?;
        refuse_if(!self.continues(from, block), Reason::BrokenLink)
    }

    pub(super) fn judge_answer(
        &mut self,
        from: NodeId,
        block: &Block,
        out: &mut Out<C>,
    ) -> Result<(), Reason> {
        refuse_if(block.sender_pubkey != self.key, Reason::WrongReceiver)?;
        if let Some(stored) = self.places.at(block) {
            let same = *stored == Place::completed(block);
            refuse_if(same, Reason::Duplicate)?;
            self.verify_answer(block, out)?;
            return Err(Reason::Fork);
        }
        refuse_if(!self.open.holds(block), Reason::BrokenLink)?;
        self.verify_answer(block, out)?;
        if let Some(reason) = self.open.given_up(block) {
            self.open.close(block);
            return Err(reason);
        }
        let foreign = self.chain.knows_of_another(block.prev_hash_receiver, from);
        refuse_if(foreign, Reason::BrokenLink)
    }

    fn verify_answer(&self, block: &Block, out: &mut Out<C>) -> Result<(), Reason> {
        work(out, Operation::Verify, block.signed_bytes(Part::Agreement));
        refuse_if(!block.receiver_signed::<C>(), Reason::InvalidSignature)
    }

    /// Whether it names the node it came from as its proposer.
    fn is_from(&self, from: NodeId, block: &Block) -> bool {
        block.proposer == from && self.key_of(from) == Some(block.sender_pubkey)
    }

    fn continues(&self, from: NodeId, block: &Block) -> bool {
        block.index > 0
            && block.prev_hash_receiver.is_none()
            && !self.chain.knows_of_another(block.prev_hash_sender, from)
            && self.places.may_hold(block)
    }
}

fn refuse_if(condition: bool, reason: Reason) -> Result<(), Reason> {
    if condition {
        Err(reason)
    } else {
        Ok(())
    }
}
