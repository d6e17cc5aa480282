import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A model that nn-compile made, from Java.
 *
 * <pre>
 *   nn-compile model.onnx --name net -o net
 *   javac -h . Net.java
 *   cc -shared -fPIC -I net -I $JAVA_HOME/include -I $JAVA_HOME/include/linux net_jni.c net/libnet.so \
 *      -Wl,-rpath,net -o libnet_jni.so
 *   java -Djava.library.path=. Net &lt; input.bin &gt; output.bin
 * </pre>
 */
public final class Net {
  static {
    System.loadLibrary("net_jni");
  }

  private Net() {}

  /** The bytes of input or output k; -1 behind the last. */
  public static native long inputBytes(int k);

  public static native long outputBytes(int k);

  /** The machine whose code runs here, or null. */
  public static native String variant();

  private static native String run(ByteBuffer[] inputs, ByteBuffer[] outputs);

  /** Memory that the model can read and write: direct, in the machine's own order of bytes. */
  public static ByteBuffer buffer(long bytes) {
    return ByteBuffer.allocateDirect(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
  }

  /** Run the model on direct buffers, one for each input; return one for each output. */
  public static ByteBuffer[] run(ByteBuffer... inputs) {
    int count = 0;
    while (outputBytes(count) >= 0) count++;
    ByteBuffer[] outputs = new ByteBuffer[count];
    for (int k = 0; k < count; k++) outputs[k] = buffer(outputBytes(k));
    String problem = run(inputs, outputs);
    if (problem != null) throw new IllegalArgumentException(problem);
    return outputs;
  }

  public static void main(String[] words) throws java.io.IOException {
    ByteBuffer input = buffer(inputBytes(0));
    input.put(System.in.readNBytes(input.capacity()));
    for (ByteBuffer output : run(input)) {
      byte[] bytes = new byte[output.capacity()];
      output.get(bytes);
      System.out.write(bytes);
    }
    System.out.flush();
    System.err.println("code for " + variant());
  }
}
