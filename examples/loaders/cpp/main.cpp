// Runs a library that nn-compile made, from C++:
//
//   nn-compile model.onnx --name net -o net
//   c++ -std=c++17 -I net main.cpp net/libnet.so -Wl,-rpath,net -o main
//   ./main < input.bin > output.bin
//
// Inputs follow each other on the standard input, outputs on the standard output, as they lie in memory.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "net.h"

using Bytes = std::vector<char>;

// The model as a function; where it cannot run, it throws what the library says.
std::vector<Bytes> run(const std::vector<Bytes> &given) {
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  std::vector<Bytes> results;
  for (const Bytes &input : given) inputs.push_back(input.data());
  for (int k = 0; k < NET_OUTPUTS; ++k) results.emplace_back(net_output(k)->bytes);
  for (Bytes &result : results) outputs.push_back(result.data());
  const int code = net_run(inputs.data(), outputs.data());
  if (code != NET_OK) throw std::runtime_error(net_message(code));
  return results;
}

std::string text(const net_tensor &tensor) {
  std::string sizes;
  for (int64_t k = 0; k < tensor.rank; ++k) sizes += (k ? ", " : "") + std::to_string(tensor.shape[k]);
  return std::string(tensor.name) + ": " + tensor.dtype + "[" + sizes + "]";
}

int main() try {
  std::vector<Bytes> inputs;
  for (int k = 0; k < NET_INPUTS; ++k) {
    std::fprintf(stderr, "%s\n", text(*net_input(k)).c_str());
    inputs.emplace_back(net_input(k)->bytes);
    if (std::fread(inputs.back().data(), 1, inputs.back().size(), stdin) != inputs.back().size())
      throw std::runtime_error("the input is too short");
  }
  for (const Bytes &result : run(inputs)) std::fwrite(result.data(), 1, result.size(), stdout);
  std::fprintf(stderr, "code for %s\n", net_variant());
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
