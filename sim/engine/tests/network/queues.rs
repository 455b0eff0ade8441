//! Radios as queues, against models of queues that are nobody's here: tandem FIFO queues, M/D/1, and
//! M/D/1/K.

use crate::common::sends::{
    arrivals, choose, simulated, simulated_with_waits, uniform, Send, HEADERS_BYTES,
};
use crate::common::{counter, plan, reasons, Numbers};
use _engine::plan::Plan;
use _engine::resources::hybrid::Hybrid;
use _engine::resources::radio::QUEUE_S;
use _engine::resources::{Advance, CpuDemand, Happening, Spender, Thread, World};
use pocketsim_protocols::contract::{EventKind, NodeId, Reason, Seconds};

/// When each datagram is at its receiver; none if a queue was full. One after the other through
/// both queues, without an event.
fn tandem(plan: &Plan, sends: &[Send]) -> Vec<Option<Seconds>> {
    let serve = |free_s: &mut Seconds, now: Seconds, rate: f64, room: f64, bytes: f64| {
        let wait_s = (*free_s - now).max(0.0);
        let fits = wait_s == 0.0 || wait_s * rate + bytes <= room;
        fits.then(|| *free_s = now + wait_s + bytes / rate)
            .map(|()| *free_s)
    };
    let access = |phone: u32| &plan.access[plan.phones.access[phone as usize] as usize];
    let (mut ups, mut downs) = (
        vec![0.0; plan.phones.access.len()],
        vec![0.0; plan.phones.access.len()],
    );
    let mut crossings: Vec<(Seconds, usize)> = Vec::new();
    for (number, &(now, from, to, bytes)) in sends.iter().enumerate() {
        let (near, far) = (access(from), access(to));
        let up = (near.up_bytes_per_s, near.up_queue_bytes.expect("given"));
        let out_s = serve(&mut ups[from as usize], now, up.0, up.1, f64::from(bytes));
        crossings.extend(out_s.map(|out_s| (out_s + near.latency_s + far.latency_s, number)));
    }
    crossings.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut ends = vec![None; sends.len()];
    for (now, number) in crossings {
        let (_, _, to, bytes) = sends[number];
        let down = access(to);
        let down = (down.down_bytes_per_s, down.down_queue_bytes.expect("given"));
        ends[number] = serve(
            &mut downs[to as usize],
            now,
            down.0,
            down.1,
            f64::from(bytes),
        );
    }
    ends
}

#[test]
fn dates_are_those_of_tandem_queues() {
    let mut numbers = Numbers(11);
    let (mut delivered, mut refused) = (0, 0);
    for _ in 0..10_000 {
        let mut plan = plan(2 + choose(&mut numbers, 5) as usize);
        let model = plan.access[0].clone();
        plan.access.clear();
        for phone in 0..plan.phones.access.len() {
            let mut access = model.clone();
            access.up_bytes_per_s = 1000.0 * 100.0_f64.powf(uniform(&mut numbers));
            access.down_bytes_per_s = 1000.0 * 100.0_f64.powf(uniform(&mut numbers));
            access.up_queue_bytes = Some(10_000.0 * uniform(&mut numbers));
            access.down_queue_bytes = Some(10_000.0 * uniform(&mut numbers));
            access.latency_s = 0.1 * uniform(&mut numbers);
            plan.access.push(access);
            plan.phones.access[phone] = phone as u32;
        }
        plan.duration_s = 1e6;
        let phones = plan.phones.access.len() as u32;
        let mut now = 0.0;
        let sends: Vec<Send> = (0..40)
            .map(|_| {
                now += 0.1 * uniform(&mut numbers);
                let from = choose(&mut numbers, phones);
                let to = (from + 1 + choose(&mut numbers, phones - 1)) % phones;
                (
                    now,
                    from,
                    to,
                    HEADERS_BYTES + 1 + choose(&mut numbers, 1400),
                )
            })
            .collect();
        let expected = tandem(&plan, &sends);
        let trace = simulated(plan, &sends);
        for (found, expected) in arrivals(&trace, sends.len()).iter().zip(&expected) {
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    assert!(
                        (found - expected).abs() <= 1e-12 * expected,
                        "{found} {expected}"
                    );
                }
                _ => assert_eq!(found, expected),
            }
        }
        let drops = reasons(&trace, EventKind::Drop);
        assert!(drops.iter().all(|&reason| reason == Reason::QueueFull));
        let missing = expected.iter().filter(|end| end.is_none()).count();
        assert_eq!(drops.len(), missing);
        (delivered, refused) = (delivered + sends.len() - missing, refused + missing);
    }
    assert!(
        delivered > 100_000 && refused > 10_000,
        "{delivered} {refused}"
    );
}

/// Poisson arrivals at a radio that takes a second for each; what crosses it is at once elsewhere.
fn poisson(load: f64, room: f64, count: usize) -> (Plan, Vec<Send>) {
    let mut plan = plan(2);
    let access = &mut plan.access[0];
    (access.up_bytes_per_s, access.down_bytes_per_s) = (1000.0, 1e12);
    (access.up_queue_bytes, access.latency_s) = (Some(room * 1000.0), 0.0);
    plan.duration_s = 1e12;
    let (mut numbers, mut now) = (Numbers(5), 0.0);
    let sends = (0..count).map(|_| {
        now -= (1.0 - uniform(&mut numbers)).ln() / load;
        (now, 0, 1, 1000)
    });
    let sends = sends.collect();
    (plan, sends)
}

#[test]
fn waiting_times_are_those_of_m_d_1() {
    for load in [0.2, 0.5, 0.8] {
        let (plan, sends) = poisson(load, 1e9, 400_000);
        let (trace, waits) = simulated_with_waits(plan, &sends);
        let ends = arrivals(&trace, sends.len());
        let taken_s = ends
            .iter()
            .zip(&sends)
            .map(|(end, send)| end.expect("no loss") - send.0);
        let wait_s = taken_s.sum::<f64>() / sends.len() as f64 - 1.0;
        // Pollaczek and Khinchine; over 20 seeds the means of as many arrivals spread by 0.6, 0.7 and
        // 1.3 %.
        let expected_s = load / (2.0 * (1.0 - load));
        assert!(
            (wait_s / expected_s - 1.0).abs() < 0.03,
            "{load}: {wait_s}, {expected_s}"
        );
        let [up, down] = &waits.taken;
        let count = sends.len() as u64;
        assert_eq!((up.count(), down.count()), (count, count));
        // Dates as far as 2e6 s have the roundings of such numbers.
        assert!((up.sum_s() / count as f64 - wait_s).abs() < 1e-6 * wait_s);
        // An arrival finds the radio busy as often as it is: PASTA (Wolff, Oper. Res. 30, 1982).
        let found_idle = up.none() as f64 / count as f64;
        assert!((found_idle - (1.0 - load)).abs() < 0.01, "{found_idle}");
    }
}

/// Phones that send more than radios and sites carry, and go off and on meanwhile.
fn busy(numbers: &mut Numbers, capacity_bytes_per_s: f64) -> (Plan, Vec<Send>) {
    let mut plan = plan(8);
    plan.sites.capacity_bytes_per_s = vec![capacity_bytes_per_s, 0.0];
    plan.phones.site[4..].fill(1);
    let access = &mut plan.access[0];
    (access.up_bytes_per_s, access.down_bytes_per_s) = (20_000.0, 10_000.0);
    (access.up_queue_bytes, access.down_queue_bytes) = (Some(6000.0), Some(4000.0));
    plan.duration_s = 5.0;
    let mut dates_s: Vec<_> = (0..1200).map(|_| 6.0 * uniform(numbers)).collect();
    dates_s.sort_by(f64::total_cmp);
    let sends = dates_s.into_iter().map(|now| {
        let from = choose(numbers, 8);
        let to = (from + 1 + choose(numbers, 7)) % 8;
        (now, from, to, HEADERS_BYTES + 1 + choose(numbers, 1400))
    });
    let sends = sends.collect();
    for phone in [1, 6] {
        let off_s = 1.0 + uniform(numbers);
        crate::common::turn(&mut plan, off_s, phone, false);
        crate::common::turn(&mut plan, off_s + 1.0, phone, true);
    }
    (plan, sends)
}

#[test]
fn every_datagram_that_a_radio_took_counts_once() {
    let mut numbers = Numbers(23);
    for _ in 0..200 {
        let capacity_bytes_per_s = 15_000.0 * (1.0 + 4.0 * uniform(&mut numbers));
        let (plan, sends) = busy(&mut numbers, capacity_bytes_per_s);
        let (trace, waits) = simulated_with_waits(plan, &sends);
        let [up, down] = &waits.taken;
        let full = counter(&trace, "queue_full");
        assert!(full > 0 && up.none() > 0 && up.count() > up.none());
        assert_eq!(waits.refused.iter().sum::<u64>(), full);
        // Radios of phones were offered all that was sent.
        assert_eq!(
            up.count() + waits.refused[0],
            counter(&trace, "datagrams_sent")
        );
        // What is at a socket came over both.
        assert!(down.count() >= counter(&trace, "datagrams_delivered"));
        assert!(down.count() + waits.refused[1] <= up.count());
    }
}

#[test]
fn on_a_site_that_is_never_full_waits_are_those_without_a_limit() {
    let mut numbers = Numbers(29);
    let (mut free, sends) = busy(&mut numbers, 1e9);
    free.churn = plan(8).churn;
    let mut limited = free.clone();
    (free.duration_s, limited.duration_s) = (60.0, 60.0);
    free.sites.capacity_bytes_per_s = vec![0.0, 0.0];
    let (_, free) = simulated_with_waits(free, &sends);
    let (_, limited) = simulated_with_waits(limited, &sends);
    assert_eq!(free.refused, limited.refused);
    for (free, limited) in free.taken.iter().zip(&limited.taken) {
        assert_eq!(free.count(), limited.count());
        assert!((free.sum_s() - limited.sum_s()).abs() < 1e-9 * free.sum_s());
    }
}

#[test]
fn waits_that_nobody_ends_last_until_the_run_or_the_phone_does() {
    let mut plan = plan(3);
    plan.sites.capacity_bytes_per_s = vec![1000.0];
    plan.duration_s = 2.5;
    crate::common::turn(&mut plan, 2.0, 1, false);
    // Each shares the air with another: two seconds for what would take one.
    let sends = [0, 0, 1, 1].map(|from| (1.0, from, 2, 1000));
    let (_, waits) = simulated_with_waits(plan, &sends);
    let up = &waits.taken[0];
    assert_eq!((up.count(), up.none()), (4, 2));
    // One until its phone went off, and one until the head before it, alone from then on, was out.
    assert!((up.sum_s() - (1.0 + 1.5)).abs() < 1e-9, "{}", up.sum_s());
}

#[test]
fn losses_are_those_of_m_d_1_k() {
    for (load, room) in [(0.5, 1), (0.5, 2), (0.9, 3), (0.9, 6), (1.5, 4)] {
        let (plan, sends) = poisson(load, f64::from(room), 200_000);
        let lost = reasons(&simulated(plan, &sends), EventKind::Drop).len();
        let ratio = lost as f64 / sends.len() as f64;
        let expected = loss_ratio(load, room);
        // Losses come in clusters: four standard errors of independent ones, doubled.
        let error = 8.0 * (expected * (1.0 - expected) / sends.len() as f64).sqrt();
        assert!(
            (ratio - expected).abs() < error,
            "{load}, {room}: {ratio}, {expected}"
        );
    }
}

#[test]
fn queues_without_a_size_together_hold_what_their_site_carries_in_a_quarter_of_a_second() {
    for phones in [2, 20, 200] {
        let mut plan = plan(phones + 1);
        plan.sites.capacity_bytes_per_s = vec![CAPACITY_BYTES_PER_S, 0.0];
        plan.phones.site[phones] = 1;
        plan.access[0].up_queue_bytes = None;
        // All of one phone, then all of the next, and far more than there is room for.
        let each = 8000 / phones;
        let froms = (0..phones as u32).flat_map(|from| std::iter::repeat_n(from, each));
        let sends: Vec<Send> = froms.map(|from| (1.0, from, phones as u32, 100)).collect();
        plan.duration_s = 10.0;
        let trace = simulated(plan, &sends);
        let ends_s = arrivals(&trace, sends.len());
        let held_bytes = 100 * ends_s.iter().flatten().count();
        // Beside what waits, the first of each queue is on the air.
        let room_bytes = CAPACITY_BYTES_PER_S * QUEUE_S + 100.0 * phones as f64;
        let held_ratio = held_bytes as f64 / room_bytes;
        assert!((0.9..=1.0).contains(&held_ratio), "{phones}: {held_ratio}");
        let lost = sends.len() as u64 - ends_s.iter().flatten().count() as u64;
        assert_eq!(counter(&trace, "queue_full"), lost);
    }
}

#[test]
fn a_phone_that_is_alone_on_a_busy_site_has_the_room_of_its_own_rate() {
    let held = |capacity_bytes_per_s| {
        let mut plan = plan(21);
        plan.sites.capacity_bytes_per_s = vec![capacity_bytes_per_s, 0.0];
        plan.phones.site[20] = 1;
        (plan.access[0].up_bytes_per_s, plan.access[0].up_queue_bytes) = (40_000.0, None);
        let sends = [(1.0, 0, 20, 1000); 30];
        arrivals(&simulated(plan, &sends), 30)
            .iter()
            .flatten()
            .count()
    };
    assert_eq!(held(0.0), 10);
    assert_eq!(held(1e6), 10);
    assert_eq!(held(20_000.0), 5);
}

#[test]
fn an_empty_queue_takes_a_datagram_that_is_larger_than_its_share() {
    let mut plan = plan(11);
    plan.sites.capacity_bytes_per_s = vec![10_000.0, 0.0];
    plan.phones.site[10] = 1;
    plan.access[0].up_queue_bytes = None;
    plan.duration_s = 100.0;
    // A share of a tenth carries 250 B in that time.
    let sends: Vec<Send> = (0..20).map(|number| (1.0, number % 10, 10, 5000)).collect();
    let ends_s = arrivals(&simulated(plan, &sends), 20);
    assert!(ends_s[..10].iter().all(Option::is_some));
    assert!(ends_s[10..].iter().all(Option::is_none));
}

#[test]
fn time_never_goes_back_where_a_full_site_has_many_equal_ends() {
    let mut plan = plan(20);
    plan.sites.capacity_bytes_per_s = vec![1e5, 0.0];
    plan.phones.site[10..].fill(1);
    (
        plan.access[0].up_queue_bytes,
        plan.access[0].down_queue_bytes,
    ) = (Some(3000.0), Some(3000.0));
    let mut numbers = Numbers(3);
    let mut sends: Vec<Send> = (0..10_000)
        .map(|_| {
            let now = 0.05 * f64::from(choose(&mut numbers, 1000));
            let from = choose(&mut numbers, 10);
            (
                now,
                from,
                from + 10,
                HEADERS_BYTES + 100 * (1 + choose(&mut numbers, 14)),
            )
        })
        .collect();
    sends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let trace = simulated(plan, &sends);
    assert!(reasons(&trace, EventKind::Drop).len() > 1000);
    let times_s = &trace.columns.time_s;
    assert!(times_s.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn of_one_moment_what_ends_comes_before_the_alarm_and_in_the_order_it_began() {
    let mut world = Hybrid::new(&plan(3));
    let demand = CpuDemand {
        cpu_s: 1.0,
        threads: 1,
        priority: 1.0,
        thread: Thread::Number(0),
    };
    world.wake_at(1.0);
    for (token, phone) in [(5, 2), (9, 0), (7, 1)] {
        world.spend(token, NodeId(phone), demand);
    }
    let happenings: Vec<_> = std::iter::from_fn(|| world.advance(1.0)).collect();
    let ends = [5, 9, 7].map(|token| Happening::Work(token, true));
    assert_eq!(happenings, [ends.as_slice(), &[Happening::Wake]].concat());
}

#[test]
fn what_a_phone_sends_in_vain_keeps_its_radio_busy() {
    let mut plan = plan(3);
    plan.access[0].up_bytes_per_s = 1000.0;
    crate::common::turn(&mut plan, 0.5, 2, false);
    let sends = [(1.0, 0, 2, 1000), (1.0, 0, 1, 1000)];
    let trace = simulated(plan, &sends);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::ReceiverOff]);
    let end_s = arrivals(&trace, 2)[1].expect("it is on");
    assert!(
        (end_s - (3.0 + crate::common::LATENCY_S + 1000.0 / crate::common::BYTES_PER_S)).abs()
            < 1e-12
    );
}

#[test]
fn what_never_left_a_phone_holds_nothing_back() {
    let mut plan = plan(2);
    plan.access[0].up_bytes_per_s = 1000.0;
    (plan.access[0].jitter_median_s, plan.access[0].jitter_sigma) = (1e-6, 0.1);
    crate::common::turn(&mut plan, 0.5, 0, false);
    crate::common::turn(&mut plan, 1.0, 0, true);
    let sends = [[(0.0, 0, 1, 1000); 10].as_slice(), &[(1.5, 0, 1, 1000)]].concat();
    let trace = simulated(plan, &sends);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::SenderOff; 10]);
    let end_s = arrivals(&trace, 11)[10].expect("it is on again");
    assert!((2.5..2.6).contains(&end_s), "{end_s}");
}

const CAPACITY_BYTES_PER_S: f64 = 1e6;

/// Blocking probability of M/D/1/K (Brun and Garcia, J. Appl. Prob. 37, 2000, theorem 1).
fn loss_ratio(load: f64, room: i32) -> f64 {
    let term = |k: i32| {
        let (left, factorial) = (
            f64::from(room - 1 - k),
            (1..=k).map(f64::from).product::<f64>(),
        );
        (-1.0_f64).powi(k) / factorial * (left * load).powi(k) * (left * load).exp()
    };
    let sum: f64 = (0..room).map(term).sum();
    1.0 - sum / (1.0 + load * sum)
}
