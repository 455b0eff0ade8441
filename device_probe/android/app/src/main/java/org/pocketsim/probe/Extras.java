package org.pocketsim.probe;

import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.content.pm.ApplicationInfo;
import android.os.BatteryManager;
import android.os.Build;
import android.os.PowerManager;
import org.json.JSONException;
import org.json.JSONObject;

/** What only Java is told about the phone: its names, the battery, heat, power saving. */
final class Extras {
  private Extras() {}

  static JSONObject of(Context context) {
    try {
      JSONObject extras = new JSONObject();
      int flags = context.getApplicationInfo().flags;
      extras.put("debuggable", (flags & ApplicationInfo.FLAG_DEBUGGABLE) != 0);
      PowerManager power = context.getSystemService(PowerManager.class);
      extras.put("power_save", power.isPowerSaveMode());
      if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.Q) {
        extras.put("thermal_status", power.getCurrentThermalStatus());
      }
      addBattery(context, extras);
      return extras;
    } catch (JSONException infinite) {
      throw new IllegalStateException("counts and flags are finite", infinite);
    }
  }

  private static void addBattery(Context context, JSONObject extras) throws JSONException {
    BatteryManager battery = context.getSystemService(BatteryManager.class);
    int current = battery.getIntProperty(BatteryManager.BATTERY_PROPERTY_CURRENT_NOW);
    // Phones that do not know say this, or 0 before API level 28.
    if (current != Integer.MIN_VALUE && current != 0) {
      extras.put("battery_current_a", current / MICRO);
    }
    // The last broadcast; without a receiver nothing is registered.
    Intent last =
        context.registerReceiver(null, new IntentFilter(Intent.ACTION_BATTERY_CHANGED));
    if (last == null) {
      return;
    }
    int scale = last.getIntExtra(BatteryManager.EXTRA_SCALE, 0);
    if (scale > 0) {
      int level = last.getIntExtra(BatteryManager.EXTRA_LEVEL, 0);
      extras.put("battery_level_ratio", level / (double) scale);
    }
    if (last.hasExtra(BatteryManager.EXTRA_TEMPERATURE)) {
      int tenths = last.getIntExtra(BatteryManager.EXTRA_TEMPERATURE, 0);
      extras.put("battery_temperature_c", tenths / 10.0);
    }
    int status = last.getIntExtra(BatteryManager.EXTRA_STATUS, 0);
    extras.put("battery_status", statusText(status));
  }

  /** The words of Linux for the same, as the report has them. */
  private static String statusText(int status) {
    switch (status) {
      case BatteryManager.BATTERY_STATUS_CHARGING:
        return "Charging";
      case BatteryManager.BATTERY_STATUS_DISCHARGING:
        return "Discharging";
      case BatteryManager.BATTERY_STATUS_NOT_CHARGING:
        return "Not charging";
      case BatteryManager.BATTERY_STATUS_FULL:
        return "Full";
      default:
        return "Unknown";
    }
  }

  /** The property is in microamperes. */
  private static final double MICRO = 1e6;
}
