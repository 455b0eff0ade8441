package org.pocketsim.probe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.robolectric.Shadows.shadowOf;

import android.content.Intent;
import android.content.pm.ResolveInfo;
import android.net.Uri;
import android.os.Looper;
import android.view.View;
import android.view.WindowManager;
import android.widget.EditText;
import android.widget.LinearLayout;
import android.widget.Spinner;
import android.widget.TextView;
import java.io.File;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Date;
import java.util.List;
import org.json.JSONObject;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.android.controller.ActivityController;
import org.robolectric.annotation.Config;

/** The screen, with a stand-in for the engine. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34)
public final class AppActivityTest {
  private final FakeEngine engine = new FakeEngine();
  private ActivityController<ProbeActivity> screen;

  @Before
  public void replaceEngine() {
    ProbeService.engine = engine;
    ProbeService.status = Status.IDLE;
    AppService.create();
  }

  @After
  public void close() {
    if (screen != null) {
      screen.close();
    }
    ProbeService.engine = null;
  }

  private void open(Intent intent) {
    screen = Robolectric.buildActivity(ProbeActivity.class, intent).setup();
    settle();
  }

  private void open() {
    open(new Intent(Intent.ACTION_MAIN));
  }

  /** Lets the service start and be asked once more. */
  private static void settle() {
    AppService.startAll();
    shadowOf(Looper.getMainLooper()).idleFor(Duration.ofMillis(1_100));
  }

  private void press(int id) {
    assertTrue(view(id).isEnabled());
    view(id).performClick();
    settle();
  }

  private View view(int id) {
    return screen.get().findViewById(id);
  }

  private String text(int id) {
    return ((TextView) view(id)).getText().toString();
  }

  private boolean screenStaysOn() {
    int flags = screen.get().getWindow().getAttributes().flags;
    return (flags & WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON) != 0;
  }

  private JSONObject request() throws Exception {
    return new JSONObject(engine.requests.get(engine.requests.size() - 1));
  }

  private static final String HALFWAY =
      "{'activity':'run','stage':'running','done':3,'total':9,"
          + "'current':{'kernel':'ed25519_sign','parameters':{'bytes':147}},"
          + "'kernels':[{'kernel':'sha256','measured':3,'quantity':'wall_s','median':3.12e-6},"
          + "{'kernel':'sqlite_read','not_measured':1,'reason':'built without SQLite'}]}";

  @Test
  public void nothingRunsAtFirst() {
    open();
    assertEquals("Nothing runs.", text(R.id.stage));
    assertTrue(view(R.id.quick).isEnabled() && view(R.id.dial).isEnabled());
    assertFalse(view(R.id.stop).isEnabled());
    assertFalse(view(R.id.share).isEnabled());
    assertFalse(screenStaysOn());
    assertEquals("", text(R.id.verdict));
  }

  @Test
  public void aRunShowsItsProgressForEachKernel() throws Exception {
    open();
    engine.status = HALFWAY;
    press(R.id.full);
    assertEquals("run", request().getString("activity"));
    assertEquals("full", request().getString("depth"));
    assertEquals("4 of 9: ed25519_sign, bytes 147", text(R.id.stage));
    LinearLayout kernels = (LinearLayout) view(R.id.kernels);
    assertEquals(2, kernels.getChildCount());
    String measured = ((TextView) kernels.getChildAt(0)).getText().toString();
    assertTrue(measured, measured.startsWith("sha256: 3.120 µs"));
    String not = ((TextView) kernels.getChildAt(1)).getText().toString();
    assertEquals("sqlite_read: not measured, built without SQLite", not);
    assertTrue(screenStaysOn());
    assertFalse(view(R.id.quick).isEnabled());
    assertTrue(view(R.id.stop).isEnabled());
  }

  @Test
  public void aRotationLosesNothing() {
    open();
    engine.status = HALFWAY;
    press(R.id.quick);
    ((EditText) view(R.id.peer)).setText("10.0.0.9:4747");
    screen.recreate();
    settle();
    assertEquals(1, engine.requests.size());
    assertTrue(engine.freed.isEmpty());
    assertEquals("4 of 9: ed25519_sign, bytes 147", text(R.id.stage));
    assertEquals("10.0.0.9:4747", text(R.id.peer));
    assertTrue(view(R.id.stop).isEnabled());
    press(R.id.stop);
    assertEquals(1, engine.stops);
  }

  @Test
  public void aSpoiledRunIsNotCalledClean() {
    open();
    engine.report = "{}";
    engine.status =
        "{'activity':'run','stage':'finished','spoiled':["
            + "{'condition':'throttled','detail':'1.4 times slower'},"
            + "{'condition':'from_the_future','detail':'later'}]}";
    press(R.id.quick);
    String verdict = text(R.id.verdict);
    assertTrue(verdict, verdict.startsWith("Not clean"));
    assertTrue(verdict, verdict.contains("became slower, as when it is too hot (1.4 times"));
    assertTrue(verdict, verdict.contains("from_the_future (later)"));
    assertFalse(verdict, verdict.contains("Clean:"));
    assertFalse(screenStaysOn());
  }

  @Test
  public void onlyARunWithoutConditionsIsCalledClean() {
    open();
    engine.report = "{}";
    engine.status = "{'activity':'run','stage':'finished','spoiled':[]}";
    press(R.id.quick);
    assertEquals("Clean: nothing spoiled this run.", text(R.id.verdict));
    engine.status = "{'activity':'dial','stage':'finished','spoiled':null}";
    press(R.id.quick);
    assertEquals("", text(R.id.verdict));
  }

  @Test
  public void aReportIsSharedAndOnlyItMayBeRead() {
    File report = Reports.save(RuntimeEnvironment.getApplication(), "{}", new Date(0));
    AppService.create();
    open();
    press(R.id.share);
    Intent chooser = shadowOf(screen.get()).getNextStartedActivity();
    Intent send = chooser.getParcelableExtra(Intent.EXTRA_INTENT, Intent.class);
    assertEquals(Intent.ACTION_SEND, send.getAction());
    assertEquals("application/json", send.getType());
    Uri uri = send.getParcelableExtra(Intent.EXTRA_STREAM, Uri.class);
    assertEquals("content://org.pocketsim.probe.reports/" + report.getName(), uri.toString());
    assertEquals(uri, send.getClipData().getItemAt(0).getUri());
    assertTrue((send.getFlags() & Intent.FLAG_GRANT_READ_URI_PERMISSION) != 0);
    assertEquals(0, send.getFlags() & Intent.FLAG_GRANT_WRITE_URI_PERMISSION);
  }

  @Test
  public void aTradeIsSharedWithItsEvents() throws Exception {
    var context = RuntimeEnvironment.getApplication();
    File report = Reports.save(context, "{}", new Date(0));
    Files.writeString(Reports.events(context).toPath(), "events");
    Reports.attachEvents(context, report);
    AppService.create();
    open();
    press(R.id.share);
    Intent chooser = shadowOf(screen.get()).getNextStartedActivity();
    Intent send = chooser.getParcelableExtra(Intent.EXTRA_INTENT, Intent.class);
    assertEquals(Intent.ACTION_SEND_MULTIPLE, send.getAction());
    assertEquals(2, send.getParcelableArrayListExtra(Intent.EXTRA_STREAM, Uri.class).size());
    assertEquals(2, send.getClipData().getItemCount());
  }

  @Test
  public void aLinkFillsInThePeerAndStartsNothing() throws Exception {
    open(view("pocketsim-probe://trade/192.168.1.20:4747"));
    assertEquals("192.168.1.20:4747", text(R.id.peer));
    assertTrue(text(R.id.address).contains("Press Trade"));
    assertTrue(engine.requests.isEmpty());
    screen.newIntent(view("pocketsim-probe://trade/192.168.1.21:4747"));
    assertEquals("192.168.1.21:4747", text(R.id.peer));

    ((Spinner) view(R.id.carrier)).setSelection(1);
    ((EditText) view(R.id.rate)).setText("500");
    press(R.id.dial);
    assertEquals("dial", request().getString("activity"));
    assertEquals("192.168.1.21:4747", request().getString("peer"));
    assertEquals("quic_keep", request().getString("carrier"));
    assertEquals("[500]", request().getString("rates_per_s"));
    assertEquals(25, request().getDouble("duration_s"), 0);
  }

  @Test
  public void aLinkThatIsNoneIsSaidAndForgotten() {
    open(view("pocketsim-probe://trade/../etc"));
    assertTrue(text(R.id.address).startsWith("Not an address"));
    assertEquals("", text(R.id.peer));
  }

  @Test
  public void typedGarbageStaysWhereItWasTyped() {
    open();
    ((EditText) view(R.id.peer)).setText("nowhere");
    press(R.id.dial);
    assertEquals("Not an address: nowhere", ((EditText) view(R.id.peer)).getError().toString());
    ((EditText) view(R.id.peer)).setText("10.0.0.1:1");
    ((EditText) view(R.id.rate)).setText("");
    press(R.id.dial);
    assertEquals("Not a number: ", ((EditText) view(R.id.rate)).getError().toString());
    assertNull(((EditText) view(R.id.duration)).getError());
    assertTrue(engine.requests.isEmpty());
  }

  @Test
  public void aListenerShowsWhereItIs() throws Exception {
    open();
    engine.status = "{'activity':'listen','stage':'running','trade':{'stage':'waits','sent':0}}";
    press(R.id.listen);
    assertEquals("listen", request().getString("activity"));
    assertTrue(request().getString("bind").endsWith(":4747"));
    String address = Addresses.local();
    boolean shown = view(R.id.qr).getVisibility() == View.VISIBLE;
    assertEquals(address != null, shown);
    String said = text(R.id.address);
    assertTrue(said, said.contains(address == null ? "no address" : address + ":4747"));
  }

  @Test
  public void theCameraAppFindsTheScreenByTheLink() {
    Intent link = view("pocketsim-probe://trade/10.0.0.1:4747");
    link.addCategory(Intent.CATEGORY_BROWSABLE).addCategory(Intent.CATEGORY_DEFAULT);
    var packages = RuntimeEnvironment.getApplication().getPackageManager();
    List<ResolveInfo> found = packages.queryIntentActivities(link, 0);
    assertEquals(1, found.size());
    assertEquals(ProbeActivity.class.getName(), found.get(0).activityInfo.name);
    link.setData(Uri.parse("pocketsim-probe://pay/10.0.0.1:4747"));
    assertTrue(packages.queryIntentActivities(link, 0).isEmpty());
  }

  @Test
  @Config(sdk = 34, qualifiers = "night")
  public void darkModeIsTheSystems() {
    open();
    var colours = screen.get().obtainStyledAttributes(new int[] {android.R.attr.isLightTheme});
    assertFalse(colours.getBoolean(0, true));
    colours.recycle();
  }

  private static Intent view(String link) {
    return new Intent(Intent.ACTION_VIEW, Uri.parse(link));
  }
}
