package org.pocketsim.probe;

import static org.robolectric.Shadows.shadowOf;

import android.app.Application;
import android.content.Intent;
import org.robolectric.Robolectric;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.android.controller.ServiceController;

/** Does for the service what the system does: Robolectric only notes that it was started. */
final class AppService {
  private static ServiceController<ProbeService> running;

  private AppService() {}

  /** Creates and binds the service as the screen's own. */
  static ProbeService create() {
    running = Robolectric.buildService(ProbeService.class).create();
    Application application = RuntimeEnvironment.getApplication();
    shadowOf(application)
        .setComponentNameAndServiceForBindService(
            new Intent(application, ProbeService.class).getComponent(),
            running.get().onBind(null));
    return running.get();
  }

  /** Hands over every intent that it was started with. */
  static void startAll() {
    Application application = RuntimeEnvironment.getApplication();
    Intent intent;
    while ((intent = shadowOf(application).getNextStartedService()) != null) {
      // Robolectric notes a binding too, which is no start: its intent carries nothing.
      if (intent.getExtras() != null || intent.getAction() != null) {
        running.get().onStartCommand(intent, 0, 1);
      }
    }
  }

  static ServiceController<ProbeService> controller() {
    return running;
  }
}
