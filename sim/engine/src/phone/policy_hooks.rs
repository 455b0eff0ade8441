//! What a policy of the transport changes on the way between an application and its transport.

use pocketsim_protocols::contract::{Application, Delivery, Lane, NodeId, Reason, Transport};

use crate::events::sim_context::{Due, SimContext};
use crate::phone::executor::Lanes;
use crate::phone::lane::Input;
use crate::phone::policy::{Policy, PolicyState, Verdict};
use crate::resources::World;

impl<A: Application, T: Transport<A::Block>> Lanes<A, T> {
    /// Asks `policy` when messages are handed to transports.
    pub(crate) fn govern(&mut self, policy: Box<dyn Policy>) {
        self.policy = Some(PolicyState::new(policy));
    }

    /// A message of a phone has waited long enough to be handed to the transport.
    pub(crate) fn hand_over(&mut self, phone: u32, number: u64) {
        let policy = self.policy.as_mut().expect("it made it wait");
        if let Some((to, block)) = policy.take(phone, number) {
            self.post(phone, Lane::SEND, Input::HandOver(to, block));
        }
    }

    /// The application sends a block: now, or when the policy says.
    pub(crate) fn send<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        to: NodeId,
        block: A::Block,
    ) {
        let Some(policy) = &mut self.policy else {
            return self.transmit(context, phone, at, to, block);
        };
        match policy.hand_over(phone, to, block, context.now()) {
            Verdict::Now(block) => self.transmit(context, phone, at, to, block),
            Verdict::Later(number, date) => context.push(date, Due::HandOver(phone, number)),
            Verdict::Never(payload) => {
                let reason = Reason::Withheld;
                let failed = Delivery::Failed { payload, reason };
                self.tell_app(context, phone, at, to, failed);
            }
        }
    }

    /// The transport has something for the application, unless the policy tries it again.
    pub(crate) fn hand_up<W: World>(
        &mut self,
        context: &mut SimContext<W>,
        phone: u32,
        at: usize,
        from: NodeId,
        delivery: Delivery<A::Block>,
    ) {
        let delivery = match (delivery, &mut self.policy) {
            (Delivery::Failed { payload, reason }, Some(policy)) => {
                match policy.fail(phone, from, payload, reason, context.now()) {
                    Ok((number, date)) => return context.push(date, Due::HandOver(phone, number)),
                    Err(payload) => Delivery::Failed { payload, reason },
                }
            }
            (delivery, _) => delivery,
        };
        self.tell_app(context, phone, at, from, delivery);
    }
}
