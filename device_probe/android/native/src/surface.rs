//! The functions that Java calls, by the names that JNI gives them; all that knows JNI.
//!
//! Text crosses as UTF-8 bytes. What the caller got wrong becomes an IllegalArgumentException,
//! a fault of ours an IllegalStateException; no panic passes.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

use jni::objects::{JByteArray, JClass};
use jni::sys::{jbyteArray, jlong};
use jni::JNIEnv;
use pocketsim_probe_core::trade::link::Link;

use crate::request::{text, Request};
use crate::session::{message, Session, Sessions};
use crate::{qr, request};

static SESSIONS: Sessions = Sessions::new();

/// Why a call did not do what it was asked for.
enum Fault {
    /// What the caller gave cannot be.
    Argument(String),
    /// Something of ours or of the system's.
    State(String),
    /// Java has an exception pending already.
    Pending,
}

type Answer<T> = Result<T, Fault>;

#[no_mangle]
extern "system" fn Java_org_pocketsim_probe_NativeEngine_start(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    request: JByteArray<'_>,
) -> jlong {
    guard(&mut env, 0, |env| {
        let request = Request::parse(&bytes(env, &request)?).map_err(Fault::Argument)?;
        let session = Session::start(request).map_err(|error| Fault::State(error.to_string()))?;
        Ok(SESSIONS.add(session))
    })
}

#[no_mangle]
extern "system" fn Java_org_pocketsim_probe_NativeEngine_statusOf(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    handle: jlong,
) -> jbyteArray {
    guard(&mut env, ptr::null_mut(), |env| {
        let status = session(handle)?.status();
        give(
            env,
            &serde_json::to_vec(&status).expect("numbers and texts"),
        )
    })
}

#[no_mangle]
extern "system" fn Java_org_pocketsim_probe_NativeEngine_observeOf(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    handle: jlong,
    extras: JByteArray<'_>,
) {
    guard(&mut env, (), |env| {
        let bytes = bytes(env, &extras)?;
        let extras = serde_json::from_slice(&bytes);
        let extras = extras.map_err(|error| Fault::Argument(error.to_string()))?;
        session(handle)?.observe(extras);
        Ok(())
    });
}

#[no_mangle]
extern "system" fn Java_org_pocketsim_probe_NativeEngine_stopOf(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    handle: jlong,
) {
    guard(&mut env, (), |_| {
        session(handle)?.stop();
        Ok(())
    });
}

#[no_mangle]
extern "system" fn Java_org_pocketsim_probe_NativeEngine_reportOf(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    handle: jlong,
) -> jbyteArray {
    guard(&mut env, ptr::null_mut(), |env| {
        match session(handle)?.report() {
            Some(report) => give(env, report.as_bytes()),
            None => Ok(ptr::null_mut()),
        }
    })
}

#[no_mangle]
extern "system" fn Java_org_pocketsim_probe_NativeEngine_freeOf(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    handle: jlong,
) {
    guard(&mut env, (), |_| {
        SESSIONS.remove(handle).ok_or_else(|| unknown(handle))
    });
}

#[no_mangle]
extern "system" fn Java_org_pocketsim_probe_NativeEngine_link(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    address: JByteArray<'_>,
) -> jbyteArray {
    guard(&mut env, ptr::null_mut(), |env| {
        let link = link(&bytes(env, &address)?)?;
        give(env, link.to_string().as_bytes())
    })
}

#[no_mangle]
extern "system" fn Java_org_pocketsim_probe_NativeEngine_peer(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    address: JByteArray<'_>,
) -> jbyteArray {
    guard(&mut env, ptr::null_mut(), |env| {
        let link = link(&bytes(env, &address)?)?;
        give(env, request::address(&link).as_bytes())
    })
}

#[no_mangle]
extern "system" fn Java_org_pocketsim_probe_NativeEngine_qr(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    text: JByteArray<'_>,
) -> jbyteArray {
    guard(&mut env, ptr::null_mut(), |env| {
        let modules = qr::modules(&bytes(env, &text)?).map_err(Fault::Argument)?;
        let flat: Vec<u8> = modules.concat().into_iter().map(u8::from).collect();
        give(env, &flat)
    })
}

/// Do what Java asked for; turn a fault or a panic into an exception, and return `instead`.
fn guard<T>(
    env: &mut JNIEnv<'_>,
    instead: T,
    work: impl FnOnce(&mut JNIEnv<'_>) -> Answer<T>,
) -> T {
    let done = catch_unwind(AssertUnwindSafe(|| work(env)));
    let (class, text) = match done {
        Ok(Ok(value)) => return value,
        Ok(Err(Fault::Pending)) => return instead,
        Ok(Err(Fault::Argument(text))) => ("java/lang/IllegalArgumentException", text),
        Ok(Err(Fault::State(text))) => ("java/lang/IllegalStateException", text),
        Err(panic) => ("java/lang/IllegalStateException", message(&*panic)),
    };
    // If even this fails there is an exception already, and nothing more to be done.
    let _ = env.throw_new(class, text);
    instead
}

fn bytes(env: &mut JNIEnv<'_>, array: &JByteArray<'_>) -> Answer<Vec<u8>> {
    if array.is_null() {
        return Err(Fault::Argument("null".into()));
    }
    env.convert_byte_array(array).map_err(from_jni)
}

fn give(env: &mut JNIEnv<'_>, bytes: &[u8]) -> Answer<jbyteArray> {
    let array = env.byte_array_from_slice(bytes).map_err(from_jni)?;
    Ok(array.into_raw())
}

fn session(handle: jlong) -> Answer<Session> {
    SESSIONS.get(handle).ok_or_else(|| unknown(handle))
}

fn unknown(handle: jlong) -> Fault {
    Fault::Argument(format!("no session has the handle {handle}"))
}

fn link(bytes: &[u8]) -> Answer<Link> {
    let text = text(bytes).map_err(Fault::Argument)?;
    let bad = |error: <Link as std::str::FromStr>::Err| Fault::Argument(error.to_string());
    text.parse().map_err(bad)
}

fn from_jni(error: jni::errors::Error) -> Fault {
    match error {
        jni::errors::Error::JavaException => Fault::Pending,
        other => Fault::State(other.to_string()),
    }
}
