package org.pocketsim.probe;

import com.github.unidbg.Emulator;
import com.github.unidbg.arm.Arm64Svc;
import com.github.unidbg.arm.backend.Unicorn2Factory;
import com.github.unidbg.arm.context.RegisterContext;
import com.github.unidbg.file.linux.AndroidFileIO;
import com.github.unidbg.linux.ARM64SyscallHandler;
import com.github.unidbg.linux.android.AndroidARM64Emulator;
import com.github.unidbg.linux.android.AndroidResolver;
import com.github.unidbg.linux.android.dvm.AbstractJni;
import com.github.unidbg.linux.android.dvm.DvmClass;
import com.github.unidbg.linux.android.dvm.VM;
import com.github.unidbg.memory.SvcMemory;
import com.github.unidbg.unix.UnixSyscallHandler;
import com.sun.jna.Pointer;
import java.io.File;
import java.util.List;

/** An emulated arm64 processor with bionic, and what unidbg leaves out and the library uses. */
final class EmulatedPhone extends AndroidARM64Emulator {
  private final VM vm;
  private String thrown;

  EmulatedPhone(File folder) {
    super("org.pocketsim.probe", folder, List.of(new Unicorn2Factory(true)));
    getMemory().setLibraryResolver(new AndroidResolver(23));
    getSyscallHandler().setEnableThreadDispatcher(true);
    vm = createDalvikVM();
    vm.setJni(new AbstractJni() {});
    addThrowNew();
  }

  VM vm() {
    return vm;
  }

  /** The class of the exception since the last call of this, or null. */
  String exception() {
    String last = thrown;
    thrown = null;
    return last;
  }

  /** Lets the other threads have a turn: the emulator gives none away by itself. */
  void yield() {
    getMemory().findModule("libc.so").callFunction(this, "sched_yield");
  }

  @Override
  protected UnixSyscallHandler<AndroidFileIO> createSyscallHandler(SvcMemory memory) {
    return new ARM64SyscallHandler(memory) {
      @Override
      protected int clock_gettime(Emulator<?> emulator) {
        int clock = emulator.getContext().getIntArg(0);
        if (clock != PROCESS_CPU && clock != THREAD_CPU) {
          return super.clock_gettime(emulator);
        }
        long now = System.nanoTime();
        Pointer time = emulator.<RegisterContext>getContext().getPointerArg(1);
        time.setLong(0, now / 1_000_000_000);
        time.setLong(8, now % 1_000_000_000);
        return 0;
      }
    };
  }

  private void addThrowNew() {
    Arm64Svc svc =
        new Arm64Svc() {
          @Override
          public long handle(Emulator<?> emulator) {
            DvmClass type = vm.getObject(emulator.getContext().getIntArg(1));
            thrown = type.getClassName();
            return 0;
          }
        };
    Pointer functions = vm.getJNIEnv().getPointer(0);
    functions.setPointer(THROW_NEW * Long.BYTES, getSvcMemory().registerSvc(svc));
  }

  /** Its place in the table of the JNI specification. */
  private static final int THROW_NEW = 14;

  /** Linux's numbers of the clocks. One processor without a scheduler: both are like the wall's. */
  private static final int PROCESS_CPU = 2;

  private static final int THREAD_CPU = 3;
}
