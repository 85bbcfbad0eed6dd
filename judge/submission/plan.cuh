
// Helpers of the planning kernels. Appended to the submission, so every name is one no submission uses.
struct judge_plan_extent {
  long long x, y, z;
  __device__ judge_plan_extent(long long judge_plan_x, long long judge_plan_y = 1, long long judge_plan_z = 1)
      : x(judge_plan_x), y(judge_plan_y), z(judge_plan_z) {}
  __device__ judge_plan_extent(const ::dim3& judge_plan_d)
      : x(judge_plan_d.x), y(judge_plan_d.y), z(judge_plan_d.z) {}
};

// The type of an argument beyond the kernel's parameters: takes anything, so that only the count is an error.
struct judge_plan_anything {
  template <class judge_plan_V>
  __device__ judge_plan_anything(const judge_plan_V&) {}
};

template <class judge_plan_F>
struct judge_plan_signature {
  static constexpr int count = -1;
  static constexpr long long block_bytes = 0;
};
template <class... judge_plan_P>
struct judge_plan_signature<void (*)(judge_plan_P...)> {
  static constexpr int count = sizeof...(judge_plan_P);
  // Where parameter `judge_plan_i` begins, or where the first that many parameters end: the ABI's natural alignment.
  static constexpr __host__ __device__ long long place(int judge_plan_i, bool judge_plan_begin) {
    const long long judge_plan_size[] = {static_cast<long long>(sizeof(judge_plan_P))..., 1};
    const long long judge_plan_align[] = {static_cast<long long>(alignof(judge_plan_P))..., 1};
    long long judge_plan_at = 0;
    for (int judge_plan_k = 0; judge_plan_k <= judge_plan_i; ++judge_plan_k) {
      if (judge_plan_k == judge_plan_i && !judge_plan_begin) break;
      const long long judge_plan_a = judge_plan_align[judge_plan_k];
      judge_plan_at = (judge_plan_at + judge_plan_a - 1) / judge_plan_a * judge_plan_a;
      if (judge_plan_k < judge_plan_i) judge_plan_at += judge_plan_size[judge_plan_k];
    }
    return judge_plan_at;
  }
  static constexpr long long block_bytes = place(sizeof...(judge_plan_P), false);
};

template <int judge_plan_I, class judge_plan_F>
struct judge_plan_parameter {
  using type = judge_plan_anything;
};
template <class judge_plan_P0, class... judge_plan_P>
struct judge_plan_parameter<0, void (*)(judge_plan_P0, judge_plan_P...)> {
  using type = judge_plan_P0;
};
template <int judge_plan_I, class judge_plan_P0, class... judge_plan_P>
struct judge_plan_parameter<judge_plan_I, void (*)(judge_plan_P0, judge_plan_P...)>
    : judge_plan_parameter<judge_plan_I - 1, void (*)(judge_plan_P...)> {};

template <int judge_plan_takes, int judge_plan_given>
struct judge_plan_arguments {
  static_assert(judge_plan_takes == judge_plan_given, "judge_plan_arguments");
};

template <int judge_plan_I, class judge_plan_F, class judge_plan_V>
__device__ void judge_plan_store(unsigned char* judge_plan_block, const judge_plan_V& judge_plan_value) {
  if constexpr (judge_plan_I < judge_plan_signature<judge_plan_F>::count) {
    constexpr long long judge_plan_at = judge_plan_signature<judge_plan_F>::place(judge_plan_I, true);
    *reinterpret_cast<judge_plan_V*>(judge_plan_block + judge_plan_at) = judge_plan_value;
  }
}

// Whether an argument of a launch line keeps its meaning as the parameter. C++ converts a float to an int in
// silence, and two scalars in the wrong order are exactly that.
template <class judge_plan_T>
struct judge_plan_kind {
  static constexpr int value = 0;
};
template <> struct judge_plan_kind<float> { static constexpr int value = 2; };
template <> struct judge_plan_kind<double> { static constexpr int value = 2; };
template <> struct judge_plan_kind<bool> { static constexpr int value = 3; };
template <> struct judge_plan_kind<char> { static constexpr int value = 1; };
template <> struct judge_plan_kind<signed char> { static constexpr int value = 1; };
template <> struct judge_plan_kind<unsigned char> { static constexpr int value = 1; };
template <> struct judge_plan_kind<short> { static constexpr int value = 1; };
template <> struct judge_plan_kind<unsigned short> { static constexpr int value = 1; };
template <> struct judge_plan_kind<int> { static constexpr int value = 1; };
template <> struct judge_plan_kind<unsigned int> { static constexpr int value = 1; };
template <> struct judge_plan_kind<long> { static constexpr int value = 1; };
template <> struct judge_plan_kind<unsigned long> { static constexpr int value = 1; };
template <> struct judge_plan_kind<long long> { static constexpr int value = 1; };
template <> struct judge_plan_kind<unsigned long long> { static constexpr int value = 1; };
// named: the argument is a variable or parameter by its name, not a value that was computed.
template <class judge_plan_T, bool judge_plan_is_named = false>
struct judge_plan_plain {
  using type = judge_plan_T;
  static constexpr bool named = judge_plan_is_named;
};
template <class judge_plan_T, bool judge_plan_is_named>
struct judge_plan_plain<const judge_plan_T, judge_plan_is_named> : judge_plan_plain<judge_plan_T, judge_plan_is_named> {};
template <class judge_plan_T, bool judge_plan_is_named>
struct judge_plan_plain<judge_plan_T&, judge_plan_is_named> : judge_plan_plain<judge_plan_T, true> {};
template <class judge_plan_T, bool judge_plan_is_named>
struct judge_plan_plain<judge_plan_T&&, judge_plan_is_named> : judge_plan_plain<judge_plan_T, judge_plan_is_named> {};

template <int judge_plan_argument, class judge_plan_from, class judge_plan_to>
struct judge_plan_narrowing {
  using judge_plan_given = judge_plan_plain<judge_plan_from>;
  static constexpr int judge_plan_source = judge_plan_kind<typename judge_plan_given::type>::value;
  static constexpr int judge_plan_target = judge_plan_kind<typename judge_plan_plain<judge_plan_to>::type>::value;
  static constexpr bool judge_plan_fraction = judge_plan_source == 2 && (judge_plan_target == 1 || judge_plan_target == 3);
  static constexpr bool judge_plan_flag = judge_plan_source == 1 && judge_plan_target == 3 && judge_plan_given::named;
  static_assert(!judge_plan_fraction && !judge_plan_flag, "judge_plan_narrowing");
};
