package org.pocketsim.probe;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Collections;

/** Where a peer reaches this phone. */
final class Addresses {
  private Addresses() {}

  /** The first IPv4 address in a local network (Wi-Fi or a hotspot of one's own), or null. */
  static String local() {
    try {
      for (NetworkInterface network : Collections.list(NetworkInterface.getNetworkInterfaces())) {
        for (InetAddress address : Collections.list(network.getInetAddresses())) {
          if (address instanceof Inet4Address && isLocal(network, address)) {
            return address.getHostAddress();
          }
        }
      }
    } catch (SocketException none) {
      // As if there were no network: the screen says what to do.
    }
    return null;
  }

  private static boolean isLocal(NetworkInterface network, InetAddress address)
      throws SocketException {
    // Operators give private addresses too, which no peer reaches.
    String name = network.getName();
    boolean mobile = name.startsWith("rmnet") || name.startsWith("ccmni");
    return address.isSiteLocalAddress() && network.isUp() && !mobile;
  }
}
