/* Between Net.java and the library: direct buffers become addresses. */
#include "Net.h"
#include "net.h"

JNIEXPORT jlong JNICALL Java_Net_inputBytes(JNIEnv *env, jclass net, jint k) {
  const net_tensor *input = net_input(k);
  (void)env, (void)net;
  return input ? (jlong)input->bytes : -1;
}

JNIEXPORT jlong JNICALL Java_Net_outputBytes(JNIEnv *env, jclass net, jint k) {
  const net_tensor *output = net_output(k);
  (void)env, (void)net;
  return output ? (jlong)output->bytes : -1;
}

JNIEXPORT jstring JNICALL Java_Net_variant(JNIEnv *env, jclass net) {
  const char *name = net_variant();
  (void)net;
  return name ? (*env)->NewStringUTF(env, name) : NULL;
}

/* Put the addresses of buffers into a table; say what is wrong with one that does not fit. */
static const char *addresses(JNIEnv *env, jobjectArray buffers, int count, const net_tensor *(*info)(int64_t), void **table) {
  if ((*env)->GetArrayLength(env, buffers) != count) return "there are more or fewer buffers than inputs";
  for (int k = 0; k < count; k++) {
    jobject buffer = (*env)->GetObjectArrayElement(env, buffers, k);
    table[k] = buffer ? (*env)->GetDirectBufferAddress(env, buffer) : NULL;
    if (!table[k]) return "a buffer is not direct";
    if ((*env)->GetDirectBufferCapacity(env, buffer) != info(k)->bytes) return "a buffer has another size than its input";
    (*env)->DeleteLocalRef(env, buffer);
  }
  return NULL;
}

JNIEXPORT jstring JNICALL Java_Net_run(JNIEnv *env, jclass net, jobjectArray inputs, jobjectArray outputs) {
  void *given[NET_INPUTS + 1], *made[NET_OUTPUTS];
  const char *problem = addresses(env, inputs, NET_INPUTS, net_input, given);
  int code = 0;
  (void)net;
  if (!problem) problem = addresses(env, outputs, NET_OUTPUTS, net_output, made);
  if (!problem && (code = net_run((const void *const *)given, made))) problem = net_message(code);
  return problem ? (*env)->NewStringUTF(env, problem) : NULL;
}
