import { expect, test } from 'vitest';
import { decodeKubeletConfiguration } from '../../../src/options/decode.ts';
import { isGateOn } from '../../../src/options/kubelet/feature-gates.ts';
import { validateKubeletConfiguration } from '../../../src/options/kubelet/validate.ts';

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

test.for<[string, string[]]>([
  ['maxPods: 5', []],
  [
    'memoryThrottlingFactor: 1000000',
    ['memoryThrottlingFactor 1e+06 must be greater than 0 and less than or equal to 1.0'],
  ],
  ['userNamespaces: {idsPerPod: 9007199254740991}', ['userNamespaces.idsPerPod must be a multiple of 65536']],
  ['nodeStatusMaxImages: -2', ['nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater']],
  ['podsPerCore: -1', ['podsPerCore (--pods-per-core) -1 must not be a negative number']],
  ['maxParallelImagePulls: 0', ['maxParallelImagePulls 0 must be a positive number']],
  [
    'maxParallelImagePulls: 2\nserializeImagePulls: true',
    [
      'maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
    ],
  ],
  ['runOnce: true', ['runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set']],
  [
    'serverTLSBootstrap: true\nfeatureGates: {RotateKubeletServerCertificate: false}',
    ['serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate'],
  ],
  [
    'cpuCFSQuotaPeriod: 5ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}',
    ['cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {5ms} requires feature gate CustomCPUCFSQuotaPeriod'],
  ],
  ['registerWithTaints: [{key: a/b/c, effect: NoSchedule}]', ['invalid taint: {a/b/c  NoSchedule <nil>}']],
  ['registerWithTaints: [{key: a, effect: NoSchedule, timeAdded: x}]', ['taint.TimeAdded is not nil']],
  [
    'enforceNodeAllocatable: [pods, pods]',
    ['duplicated enforcements "pods" in enforceNodeAllocatable (--enforce-node-allocatable)'],
  ],
  [
    'enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]\nkubeReservedCgroup: /k',
    [
      'both "kube-reserved" and "kube-reserved-compressible" cannot be specified together in enforceNodeAllocatable (--enforce-node-allocatable)',
    ],
  ],
  [
    'featureGates: {GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false}\nshutdownGracePeriod: 5s',
    [
      'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    ],
  ],
  [
    'featureGates: {GracefulNodeShutdownBasedOnPodPriority: false}\nshutdownGracePeriodByPodPriority: [{priority: 1}]',
    [
      'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
    ],
  ],
  [
    'reservedSystemCPUs: "0-3"\nsystemReservedCgroup: /s',
    [
      "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
    ],
  ],
  [
    'reservedSystemCPUs: 3-1',
    ['unable to parse reservedSystemCPUs (--reserved-cpus) 3-1, error: invalid range "3-1" (3 > 1)'],
  ],
  [
    'reservedMemory: [{numaNode: 0, limits: {memory: "0"}}]',
    ['reserved memory may not be zero for NUMA node 0 and resource "memory"'],
  ],
  ['reservedMemory: [{numaNode: 0, limits: {memory: 1, hugepages-2Mi: 2Mi}}]', []],
  ['userNamespaces: {idsPerPod: 65537}', ['userNamespaces.idsPerPod must be a multiple of 65536']],
  ['userNamespaces: {idsPerPod: 4294967296}', ['userNamespaces.idsPerPod must not be more than 4294967295']],
  ['showHiddenMetricsForVersion: "1.35"', []],
  ['logging: {format: json}', []],
  [
    'logging: {flushFrequency: -1s}',
    ['logging.flushFrequency: Invalid value: "-1s": Must be greater than zero'],
  ],
  ['logging: {flushFrequency: -5}', ['logging.flushFrequency: Invalid value: -5: Must be greater than zero']],
  [
    'logging: {vmodule: [{verbosity: 2147483648}, {filePattern: "a=b"}]}',
    [
      'logging.vmodule[0]: Required value: File pattern must not be empty',
      'logging.vmodule[0]: Invalid value: 2147483648: Must be <= 2147483647',
      'logging.vmodule[1]: Invalid value: "a=b": File pattern must not contain equal sign or comma',
    ],
  ],
  [
    'logging: {options: {text: {splitStream: true}, json: {infoBufferSize: 1Ki}}}',
    [
      'logging.options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled',
      'logging.options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled',
    ],
  ],
  ['logging: {options: {text: {splitStream: true}}}\nfeatureGates: {LoggingAlphaOptions: true}', []],
  [
    'logging: {format: json, vmodule: [{filePattern: x, verbosity: 1}]}',
    ['logging.vmodule: Forbidden: Only supported for text log format'],
  ],
  [
    'logging: {verbosity: 2147483648}',
    ['logging.verbosity: Invalid value: 2147483648: Must be <= 2147483647'],
  ],
  [
    'tracing: {samplingRatePerMillion: 2000000}',
    [
      'tracing.samplingRatePerMillion: Invalid value: 2000000: sampling rate per million must be less than or equal to one million',
    ],
  ],
  ['tracing: {endpoint: "unix:///x"}', []],
  [
    'tracing: {endpoint: "ftp://h:1"}',
    [
      'tracing.endpoint: Invalid value: "ftp://h:1": unsupported scheme: ftp.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md',
    ],
  ],
  [
    'tracing: {endpoint: "a\\n"}',
    [
      String.raw`tracing.endpoint: Invalid value: "dns://a\n": parse "dns://a\n": net/url: invalid control character in URL`,
    ],
  ],
  [
    'tracing: {endpoint: "dns://a b"}',
    ['tracing.endpoint: Invalid value: "dns://a b": parse "dns://a b": invalid character " " in host name'],
  ],
  [
    'tracing: {endpoint: "1://x"}',
    [
      'tracing.endpoint: Invalid value: "1://x": parse "1://x": first path segment in URL cannot contain colon',
    ],
  ],
  [
    'memoryReservationPolicy: TieredReservation',
    ['memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled'],
  ],
  [
    'memoryReservationPolicy: x',
    ['option "x" specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"'],
  ],
  [
    'enableSystemLogQuery: true\nenableSystemLogHandler: false',
    ['enableSystemLogHandler is required for enableSystemLogQuery'],
  ],
  [
    'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [reg.io/a/*, reg.io/b, a/b, busybox]',
    [],
  ],
  ...(
    [
      ['a b', 'failed to parse as an image name: invalid reference format'],
      [' a', 'leading/trailing spaces are not allowed:  a'],
      ['', 'the supplied pattern is too short: '],
      ['*', "not a valid wildcard pattern, only patterns ending with '/*' are allowed: *"],
      ['/*', 'at least registry hostname is required'],
      ['a/b:1', 'neither tag nor digest is accepted in an image reference: a/b:1'],
      ['a/B', 'failed to parse as an image name: repository name must be lowercase'],
    ] as const
  ).map(([pattern, why]): [string, string[]] => [
    `imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["${pattern}"]`,
    [`invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${why}`],
  ]),
])('%s', ([text, expected]) => {
  const { config } = decodeKubeletConfiguration(`${head}${text}\n`);
  const messages = validateKubeletConfiguration(config).map(({ message }) =>
    message.replace('invalid configuration: ', ''),
  );
  expect(messages).toEqual(expected);
});

test.for([
  ['syncFrequency: null', 'time: invalid duration ""'],
  [
    'logging: {flushFrequency: {a: 1}}',
    'invalid duration "{\\"a\\":1}": json: cannot unmarshal object into Go value of type time.Duration',
  ],
  [
    'authorization: {mode: 1}',
    'number into Go struct field KubeletAuthorization.authorization.mode of type v1beta1.KubeletAuthorizationMode',
  ],
  [
    'memoryReservationPolicy: []',
    'array into Go struct field KubeletConfiguration.memoryReservationPolicy of type v1beta1.MemoryReservationPolicy',
  ],
  [
    'registerWithTaints: x',
    'string into Go struct field KubeletConfiguration.registerWithTaints of type []v1.Taint',
  ],
  [
    'logging: {vmodule: 1}',
    'number into Go struct field LoggingConfiguration.logging.vmodule of type v1.VModuleConfiguration',
  ],
  [
    'logging: {vmodule: [x]}',
    'string into Go struct field LoggingConfiguration.logging.vmodule of type v1.VModuleItem',
  ],
  ['logging: 1', 'number into Go struct field KubeletConfiguration.logging of type v1.LoggingConfiguration'],
  [
    'tlsCurvePreferences: [x]',
    'string into Go struct field KubeletConfiguration.tlsCurvePreferences of type int32',
  ],
] as const)('%s is refused in the kubelet’s words', ([text, why]) => {
  expect(() => decodeKubeletConfiguration(`${head}${text}\n`)).toThrow(why);
});

test('a span that Go only points at may be null', () => {
  expect(decodeKubeletConfiguration(`${head}cpuCFSQuotaPeriod: null\n`).config.cpuCFSQuotaPeriod).toBe(
    '100ms',
  );
});

test('what kubeadm writes is read: a flush frequency in nanoseconds, of which zero means the default', () => {
  const flush = (text: string): unknown =>
    decodeKubeletConfiguration(`${head}logging: {flushFrequency: ${text}, verbosity: 0}\n`).config.logging
      .flushFrequency;
  expect(flush('0')).toBe('5s');
  expect(flush('1500000000')).toBe(1_500_000_000);
});

test.for([
  ['clusterDNS: [10.0.0.10, null]', { clusterDNS: ['10.0.0.10', ''] }],
  ['evictionHard: {memory.available: null}', { evictionHard: { 'memory.available': '' } }],
  ['featureGates: {MemoryQoS: null}', { featureGates: { MemoryQoS: false } }],
  ['staticPodURLHeader: {a: null}', { staticPodURLHeader: { a: [] } }],
] as const)('an item that is null is the zero of its type: %j', ([text, settings]) => {
  expect(decodeKubeletConfiguration(`${head}${text}\n`).config).toMatchObject(settings);
});

test.for([
  ['-1', 'number -1'],
  ['x', 'string'],
] as const)('a verbosity of %j is none', ([text, found]) => {
  expect(() => decodeKubeletConfiguration(`${head}logging: {verbosity: ${text}}\n`)).toThrow(
    `json: cannot unmarshal ${found} into Go struct field LoggingConfiguration.logging.verbosity of type v1.VerbosityLevel`,
  );
});

test.for([
  ['MemoryQoS', {}, false],
  ['MemoryQoS', { AllAlpha: true }, true],
  ['MemoryQoS', { AllAlpha: true, MemoryQoS: false }, false],
  ['ClusterTrustBundle', { AllAlpha: true }, false],
  ['ClusterTrustBundle', { AllBeta: true }, true],
  ['GracefulNodeShutdown', { AllBeta: false }, false],
  ['NodeSwap', { AllAlpha: false, AllBeta: false }, true],
] as const)('the gate %s with %j is on: %j', ([gate, set, on]) => {
  expect(isGateOn(gate, set)).toBe(on);
});
