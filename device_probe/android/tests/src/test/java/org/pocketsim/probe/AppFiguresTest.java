package org.pocketsim.probe;

import static org.junit.Assert.assertEquals;

import org.json.JSONObject;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;

/** Numbers for people. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34)
public final class AppFiguresTest {
  @Test
  public void valuesGetThePrefixThatFits() {
    assertEquals("31.20 µs", Figures.text("wall_s", 3.12e-5));
    assertEquals("1.000 ms", Figures.text("wall_s", 9.9999e-4));
    assertEquals("2.500 s", Figures.text("latency_s", 2.5));
    assertEquals("80.00 MB/s", Figures.text("goodput_bytes_per_s", 8e7));
    assertEquals("12.00 k/s", Figures.text("rate_per_s", 12_000));
    assertEquals("-310.0 mA", Figures.text("current_a", -0.31));
    assertEquals("1.50 %", Figures.text("loss_ratio", 0.015));
    assertEquals("312.0 datagrams", Figures.text("capacity_datagrams", 312));
    assertEquals("0.00 s", Figures.text("wall_s", 0));
  }

  @Test
  public void aCaseSaysItsParameters() throws Exception {
    JSONObject sign = new JSONObject("{'kernel':'sign','parameters':{'bytes':64}}");
    assertEquals("sign, bytes 64", Figures.caseName(sign));
    assertEquals("x", Figures.caseName(new JSONObject("{'kernel':'x'}")));
  }
}
