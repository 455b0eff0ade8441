package org.pocketsim.probe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.robolectric.Shadows.shadowOf;

import android.app.Notification;
import android.content.Intent;
import android.os.Looper;
import android.os.PowerManager;
import java.io.File;
import java.nio.file.Files;
import java.time.Duration;
import org.json.JSONObject;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;
import org.robolectric.shadows.ShadowPowerManager;

/** The foreground service, with a stand-in for the engine. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34)
public final class AppServiceTest {
  private final FakeEngine engine = new FakeEngine();
  private ProbeService service;

  @Before
  public void create() {
    ProbeService.engine = engine;
    ProbeService.status = Status.IDLE;
    service = AppService.create();
  }

  @After
  public void forget() {
    ProbeService.engine = null;
  }

  private void begin() {
    ProbeService.begin(RuntimeEnvironment.getApplication(), "{}");
    AppService.startAll();
  }

  private static void seconds(int count) {
    shadowOf(Looper.getMainLooper()).idleFor(Duration.ofSeconds(count));
  }

  private static boolean awake() {
    PowerManager.WakeLock lock = ShadowPowerManager.getLatestWakeLock();
    return lock.isHeld();
  }

  @Test
  public void itIsInTheForegroundAndAwakeAsLongAsItRuns() {
    begin();
    Notification notification = shadowOf(service).getLastForegroundNotification();
    assertNotNull(notification);
    assertEquals("Stop", notification.actions[0].title.toString());
    assertTrue(awake());
    engine.report = "{}";
    engine.status = "{'activity':'run','stage':'finished','spoiled':[]}";
    seconds(2);
    assertFalse(awake());
    assertTrue(shadowOf(service).isForegroundStopped());
    assertTrue(shadowOf(service).isStoppedBySelf());
  }

  @Test
  public void theReportIsKeptWordForWord() throws Exception {
    begin();
    assertNull(service.report());
    engine.report = "{\"schema_version\":1,\"µ\":\"\uD83D\uDCF1\"}";
    engine.status = "{'activity':'run','stage':'finished','spoiled':[]}";
    seconds(2);
    File report = service.report();
    assertEquals(engine.report, Files.readString(report.toPath()));
    assertEquals(report, Reports.latest(service));
    assertEquals(1, engine.freed.size());
    assertFalse(new File(Reports.folder(service), "draft").exists());
  }

  @Test
  public void whatJavaKnowsIsToldEverySecond() throws Exception {
    begin();
    int told = engine.observed.size();
    seconds(5);
    assertEquals(told + 5, engine.observed.size());
    JSONObject extras = new JSONObject(engine.observed.get(0));
    assertTrue(extras.has("debuggable") && extras.has("power_save"));
    assertTrue(extras.has("thermal_status"));
  }

  @Test
  public void aSecondStartIsNotASecondRun() {
    begin();
    begin();
    assertEquals(1, engine.requests.size());
  }

  @Test
  public void theNotificationStopsTheRun() {
    begin();
    Intent stop = new Intent(RuntimeEnvironment.getApplication(), ProbeService.class);
    service.onStartCommand(stop.setAction(ProbeService.STOP), 0, 2);
    assertEquals(1, engine.stops);
    assertEquals(1, engine.requests.size());
  }

  @Test
  public void aRefusalIsSaidAndNothingStaysAwake() {
    engine.refusal = new IllegalArgumentException("no such kernel");
    begin();
    assertEquals("Failed: no such kernel", ProbeService.status.sentence(service));
    assertTrue(shadowOf(service).isStoppedBySelf());
    assertFalse(service.isBusy());
  }

  @Test
  public void onlyATradeHasEvents() throws Exception {
    Files.writeString(Reports.events(service).toPath(), "events");
    begin();
    engine.report = "{}";
    engine.status = "{'activity':'run','stage':'finished','spoiled':[]}";
    seconds(2);
    assertEquals(1, Reports.parts(service.report()).size());
    engine.status = "{'activity':'listen','stage':'finished','spoiled':null}";
    begin();
    assertEquals(2, Reports.parts(service.report()).size());
  }

  @Test
  public void aFailureLeavesNoReport() {
    begin();
    engine.status = "{'activity':'dial','stage':'failed','error':'nobody answers'}";
    seconds(2);
    assertEquals("Failed: nobody answers", ProbeService.status.sentence(service));
    assertNull(service.report());
    assertEquals(1, engine.freed.size());
  }

  @Test
  public void itsEndEndsTheEngine() {
    begin();
    AppService.controller().destroy();
    assertEquals(1, engine.freed.size());
    assertFalse(awake());
  }

  @Test
  public void howItEndedOutlivesTheService() {
    begin();
    engine.report = "{}";
    engine.status = "{'activity':'run','stage':'finished','spoiled':[]}";
    seconds(2);
    AppService.controller().destroy();
    AppService.create();
    assertEquals("Done.", ProbeService.status.sentence(service));
    assertNotNull(AppService.controller().get().report());
  }
}
