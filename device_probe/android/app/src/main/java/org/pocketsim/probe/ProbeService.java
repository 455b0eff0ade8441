package org.pocketsim.probe;

import android.app.Notification;
import android.app.NotificationChannel;
import android.app.NotificationManager;
import android.app.PendingIntent;
import android.app.Service;
import android.content.Context;
import android.content.Intent;
import android.os.Binder;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.PowerManager;
import java.io.File;
import java.util.Date;

/**
 * Holds the one activity of the engine, across rotations and with the screen in other hands.
 *
 * <p>It is started for an activity and stops itself when that is over. It asks the engine once a
 * second how far it is; asking more often would disturb what is measured. All methods belong to
 * the main thread.
 */
public final class ProbeService extends Service {
  /** What measures; tests put a stand-in here before the service is created. */
  static Engine engine;

  /**
   * How far the engine is, or how it ended: kept as long as the process, as the service is gone
   * soon after an end that nobody looked at.
   */
  static Status status = Status.IDLE;

  /** Whoever shows the state. */
  interface Listener {
    void changed();
  }

  /** Gives the Activity, which lives in the same process, the service itself. */
  final class Local extends Binder {
    ProbeService service() {
      return ProbeService.this;
    }
  }

  private final Handler handler = new Handler(Looper.getMainLooper());
  private final Runnable poll = this::poll;
  private File report;
  private long handle;
  private Listener listener;
  private PowerManager.WakeLock wakeLock;

  static Engine engine() {
    if (engine == null) {
      engine = new NativeEngine();
    }
    return engine;
  }

  /** Begins what the request asks for. */
  static void begin(Context context, String request) {
    Intent intent = new Intent(context, ProbeService.class).putExtra(REQUEST, request);
    context.startForegroundService(intent);
  }

  void listen(Listener listener) {
    this.listener = listener;
  }

  Status status() {
    return status;
  }

  boolean isBusy() {
    return handle != 0;
  }

  /** The newest report on this phone, or null. */
  File report() {
    return report;
  }

  /** Asks the engine to end. */
  void stopEngine() {
    if (isBusy()) {
      engine().stop(handle);
      poll();
    }
  }

  @Override
  public void onCreate() {
    super.onCreate();
    report = Reports.latest(this);
    NotificationChannel channel =
        new NotificationChannel(
            CHANNEL, getString(R.string.channel_name), NotificationManager.IMPORTANCE_LOW);
    getSystemService(NotificationManager.class).createNotificationChannel(channel);
    wakeLock =
        getSystemService(PowerManager.class)
            .newWakeLock(PowerManager.PARTIAL_WAKE_LOCK, "pocketsim:probe");
  }

  @Override
  public IBinder onBind(Intent intent) {
    return new Local();
  }

  @Override
  public int onStartCommand(Intent intent, int flags, int id) {
    // The system ends a process that does not do this first, whatever the intent asks for.
    startForeground(NOTIFICATION, notification());
    if (STOP.equals(intent.getAction())) {
      stopEngine();
    } else if (!isBusy()) {
      start(intent.getStringExtra(REQUEST));
    }
    if (!isBusy()) {
      rest();
    }
    return START_NOT_STICKY;
  }

  @Override
  public void onDestroy() {
    handler.removeCallbacks(poll);
    if (isBusy()) {
      engine().free(handle);
      handle = 0;
    }
    rest();
    super.onDestroy();
  }

  private void start(String request) {
    try {
      handle = engine().start(request);
    } catch (IllegalArgumentException | IllegalStateException refused) {
      status = Status.failed(refused.getMessage());
      changed();
      return;
    }
    wakeLock.acquire(LONGEST_MS);
    poll();
  }

  private void poll() {
    handler.removeCallbacks(poll);
    status = Status.parse(engine().status(handle));
    if (status.isOver()) {
      finish();
    } else {
      engine().observe(handle, Extras.of(this).toString());
      handler.postDelayed(poll, POLL_MS);
    }
    changed();
  }

  private void finish() {
    String text = engine().report(handle);
    engine().free(handle);
    handle = 0;
    if (text != null) {
      report = Reports.save(this, text, new Date());
      if (!status.isRun()) {
        Reports.attachEvents(this, report);
      }
    }
    rest();
  }

  private void rest() {
    if (wakeLock.isHeld()) {
      wakeLock.release();
    }
    stopForeground(STOP_FOREGROUND_REMOVE);
    stopSelf();
  }

  private void changed() {
    if (listener != null) {
      listener.changed();
    }
  }

  private Notification notification() {
    Intent open = new Intent(this, ProbeActivity.class);
    Intent stop = new Intent(this, ProbeService.class).setAction(STOP);
    int immutable = PendingIntent.FLAG_IMMUTABLE;
    Notification.Action stopAction =
        new Notification.Action.Builder(
                null, getString(R.string.stop), PendingIntent.getService(this, 0, stop, immutable))
            .build();
    return new Notification.Builder(this, CHANNEL)
        .setSmallIcon(R.drawable.icon)
        .setContentTitle(getString(R.string.notification_title))
        .setContentIntent(PendingIntent.getActivity(this, 0, open, immutable))
        .setOngoing(true)
        .addAction(stopAction)
        .build();
  }

  static final String STOP = "org.pocketsim.probe.STOP";
  private static final String REQUEST = "request";
  private static final String CHANNEL = "running";
  private static final int NOTIFICATION = 1;
  private static final long POLL_MS = 1_000;

  /** A full run takes minutes, a ladder of the theses less than three hours. */
  private static final long LONGEST_MS = 4 * 60 * 60 * 1_000L;
}
