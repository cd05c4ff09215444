import { goFloat } from '../../go/go-float.ts';
import { normalize } from 'node:path/posix';
import { goQuote } from '../../go/go-quote.ts';
import { imageNameFault, isBareName } from '../../kube/image-reference.ts';
import { isZeroQuantity, parseQuantity } from '../../kube/resources/quantity.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { gate, nanosOf, type Rule, type RuleContext, second, when } from './rule.ts';
import { isHugePageResource } from '../../kube/resources/resource-names.ts';

const pullPolicies: readonly string[] = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
];
const allowlist = (c: KubeletConfiguration): readonly string[] =>
  c.preloadedImagesVerificationAllowlist ?? [];

/**
 * Rules for image credentials, reserved CPUs and memory, metrics, logs and traces: the last part of the kubelet's validation, in its
 * order.
 */
export const serviceRules: readonly Rule[] = [
  when(
    'imagePullCredentialsVerificationPolicy',
    (c) => !pullPolicies.includes(c.imagePullCredentialsVerificationPolicy),
    (c) =>
      `option ${goQuote(c.imagePullCredentialsVerificationPolicy)} specified for imagePullCredentialsVerificationPolicy. Valid options are "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"`,
  ),
  when(
    'preloadedImagesVerificationAllowlist',
    (c) =>
      allowlist(c).length > 0 && c.imagePullCredentialsVerificationPolicy !== 'NeverVerifyAllowlistedImages',
    'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
  ),
  {
    path: 'preloadedImagesVerificationAllowlist',
    broken: (config) => {
      if (config.imagePullCredentialsVerificationPolicy !== 'NeverVerifyAllowlistedImages') return undefined;
      const fault = allowlist(config).map(imagePatternFault).find(Boolean);
      if (fault === undefined) return undefined;
      return `invalid configuration: invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${fault}`;
    },
  },
  when(
    'reservedSystemCPUs',
    (c) => Boolean(c.reservedSystemCPUs) && Boolean(c.systemReservedCgroup ?? c.kubeReservedCgroup),
    "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
  ),
  { path: 'reservedSystemCPUs', broken: (config) => cpuListFault(config.reservedSystemCPUs ?? '') },
  { path: 'reservedMemory', broken: (config) => reservedMemoryFaults(config) },
  { path: 'userNamespaces.idsPerPod', broken: (config) => idsPerPodFault(config.userNamespaces?.idsPerPod) },
  {
    path: 'showHiddenMetricsForVersion',
    broken: (config, { version }) => {
      const shown = config.showHiddenMetricsForVersion ?? '';
      // minor versions are unsigned in the kubelet
      const previous = `${version.major}.${BigInt.asUintN(64, BigInt(version.minor) - 1n)}`;
      if (shown === '' || shown === previous) return undefined;
      return `invalid showHiddenMetricsForVersion: showHiddenMetricsForVersion: Invalid value: ${goQuote(shown)}: must be omitted or have the value '${previous}'; only the previous minor version is allowed`;
    },
  },
  { path: 'logging', broken: (config, context) => loggingFaults(config, context) },
  { path: 'tracing', broken: (config) => tracingFaults(config) },
  when(
    'memoryThrottlingFactor',
    (c) => c.memoryThrottlingFactor <= 0 || c.memoryThrottlingFactor > 1,
    (c) =>
      `memoryThrottlingFactor ${goFloat(c.memoryThrottlingFactor)} must be greater than 0 and less than or equal to 1.0`,
  ),
  when(
    'memoryReservationPolicy',
    (c) => !gate(c, 'MemoryQoS') && c.memoryReservationPolicy === 'TieredReservation',
    'memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled',
  ),
  when(
    'memoryReservationPolicy',
    (c) => !['None', 'TieredReservation'].includes(c.memoryReservationPolicy),
    (c) =>
      `option ${goQuote(c.memoryReservationPolicy)} specified for memoryReservationPolicy. Valid options are "None" or "TieredReservation"`,
  ),
  when(
    'enableSystemLogQuery',
    (c) => c.enableSystemLogQuery && !c.enableSystemLogHandler,
    'enableSystemLogHandler is required for enableSystemLogQuery',
  ),
  when(
    'containerLogMaxWorkers',
    (c) => c.containerLogMaxWorkers < 1,
    'containerLogMaxWorkers must be greater than or equal to 1',
  ),
  when(
    'containerLogMonitorInterval',
    (c) => nanosOf(c.containerLogMonitorInterval) < 3n * second,
    'containerLogMonitorInterval must be a positive time duration greater than or equal to 3s',
  ),
  when(
    'containerLogMaxFiles',
    (c) => c.containerLogMaxFiles <= 1,
    'containerLogMaxFiles must be greater than 1',
  ),
  when(
    'podLogsDir',
    (c) => !c.podLogsDir.startsWith('/'),
    (c) => `pod logs path ${goQuote(c.podLogsDir)} must be absolute path`,
  ),
  when(
    'podLogsDir',
    (c) => !isClean(c.podLogsDir),
    (c) => `pod logs path ${goQuote(c.podLogsDir)} must be normalized`,
  ),
  when(
    'podLogsDir',
    (c) => /[^\u0000-\u007f]/.test(c.podLogsDir),
    (c) => `pod logs path ${goQuote(c.podLogsDir)} mut contains ASCII characters only`,
  ),
];

const isClean = (path: string): boolean =>
  normalize(path) === path && (path === '/' || !path.endsWith('/')) && !path.startsWith('./');

// A pattern is an image name as containers write it, without tag and digest, or a prefix that ends in `/*`.
function imagePatternFault(pattern: string): string | undefined {
  if (pattern.trim() !== pattern) return `leading/trailing spaces are not allowed: ${pattern}`;
  if (pattern === '') return `the supplied pattern is too short: ${pattern}`;
  const isPrefix = pattern.endsWith('/*');
  if ((isPrefix ? pattern.slice(0, -1) : pattern).includes('*'))
    return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  if (isPrefix) return pattern === '/*' ? 'at least registry hostname is required' : undefined;
  const fault = imageNameFault(pattern);
  if (fault !== undefined) return `failed to parse as an image name: ${fault}`;
  return isBareName(pattern)
    ? undefined
    : `neither tag nor digest is accepted in an image reference: ${pattern}`;
}

function cpuListFault(list: string): string | undefined {
  if (list === '') return undefined;
  const fault = (text: string): string =>
    `invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) ${list}, error: ${text}`;
  for (const range of list.split(',')) {
    const dash = range.indexOf('-');
    const bounds = dash < 0 ? [range] : [range.slice(0, dash), range.slice(dash + 1)];
    const odd = bounds.find((bound) => !/^[-+]?\d+$/.test(bound));
    if (odd !== undefined) return fault(`strconv.Atoi: parsing ${goQuote(odd)}: invalid syntax`);
    const [from = 0, to = from] = bounds.map(Number);
    if (from > to) return fault(`invalid range ${goQuote(range)} (${from} > ${to})`);
  }
  return undefined;
}

function reservedMemoryFaults(config: KubeletConfiguration): string[] {
  const seen = new Set<string>();
  return (config.reservedMemory ?? []).flatMap(({ numaNode, limits = {} }) =>
    Object.entries(limits).flatMap(([name, amount]) => {
      const faults: string[] = [];
      if (name !== 'memory' && !isHugePageResource(name))
        faults.push(
          `the limit type ${goQuote(name)} for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
        );
      if (isZeroQuantity(parseQuantity(amount)))
        faults.push(
          `reserved memory may not be zero for NUMA node ${numaNode} and resource ${goQuote(name)}`,
        );
      const key = `${numaNode}/${name}`;
      if (seen.has(key))
        faults.push(
          `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource ${goQuote(name)}`,
        );
      seen.add(key);
      return faults.map((text) => `invalid configuration: ${text}`);
    }),
  );
}

function idsPerPodFault(ids: number | undefined): string | undefined {
  if (ids === undefined) return undefined;
  if (ids < 65536) return 'invalid configuration: userNamespaces.idsPerPod must not be less than 65536';
  if (ids % 65536 !== 0) return 'invalid configuration: userNamespaces.idsPerPod must be a multiple of 65536';
  return ids > 2 ** 32 - 1
    ? 'invalid configuration: userNamespaces.idsPerPod must not be more than 4294967295'
    : undefined;
}

const mostVerbose = 2 ** 31 - 1;

/** Follows component-base `logs/api/v1.Validate`. */
function loggingFaults(config: KubeletConfiguration, { logFormats }: RuleContext): string[] {
  const { flushFrequency, format, verbosity } = config.logging;
  const faults: string[] = [];
  if (nanosOf(flushFrequency) <= 0n)
    faults.push(
      `logging.flushFrequency: Invalid value: ${JSON.stringify(flushFrequency)}: Must be greater than zero`,
    );
  if (!logFormats.includes(format))
    faults.push(`logging.format: Invalid value: ${goQuote(format)}: Unsupported log format`);
  if (verbosity > mostVerbose)
    faults.push(`logging.verbosity: Invalid value: ${verbosity}: Must be <= ${mostVerbose}`);
  return [...faults, ...vmoduleFaults(config.logging), ...logOptionFaults(config)];
}

function vmoduleFaults({ format, vmodule = [] }: KubeletConfiguration['logging']): string[] {
  const faults =
    vmodule.length > 0 && format !== 'text'
      ? ['logging.vmodule: Forbidden: Only supported for text log format']
      : [];
  for (const [i, { filePattern = '', verbosity = 0 }] of vmodule.entries()) {
    const at = `logging.vmodule[${i}]`;
    if (filePattern === '') faults.push(`${at}: Required value: File pattern must not be empty`);
    if (/[=,]/.test(filePattern))
      faults.push(
        `${at}: Invalid value: ${goQuote(filePattern)}: File pattern must not contain equal sign or comma`,
      );
    if (verbosity > mostVerbose) faults.push(`${at}: Invalid value: ${verbosity}: Must be <= ${mostVerbose}`);
  }
  return faults;
}

function logOptionFaults(config: KubeletConfiguration): string[] {
  if (gate(config, 'LoggingAlphaOptions')) return [];
  const { options } = config.logging;
  return (['text', 'json'] as const).flatMap((form) => {
    const { splitStream = false, infoBufferSize } = options[form];
    const set = { splitStream, infoBufferSize: !isZeroQuantity(parseQuantity(infoBufferSize)) };
    return Object.entries(set)
      .filter(([, isSet]) => isSet)
      .map(([key]) => `logging.options.${form}.${key}: Forbidden: Feature LoggingAlphaOptions is disabled`);
  });
}

function tracingFaults({ tracing }: KubeletConfiguration): string[] {
  const rate = tracing?.samplingRatePerMillion ?? 0;
  const faults: string[] = [];
  if (rate < 0)
    faults.push(`tracing.samplingRatePerMillion: Invalid value: ${rate}: sampling rate must be positive`);
  if (rate > 1_000_000)
    faults.push(
      `tracing.samplingRatePerMillion: Invalid value: ${rate}: sampling rate per million must be less than or equal to one million`,
    );
  const endpoint = tracing?.endpoint === undefined ? undefined : endpointFault(tracing.endpoint);
  return endpoint === undefined ? faults : [...faults, endpoint];
}

/** Returns the fault of an OTLP endpoint, a URL; without a scheme it means `dns://`. */
function endpointFault(endpoint: string): string | undefined {
  const url = endpoint.includes('//') ? endpoint : `dns://${endpoint}`;
  const fault = urlFault(url);
  return fault === undefined ? undefined : `tracing.endpoint: Invalid value: ${goQuote(url)}: ${fault}`;
}

const endpointSchemes: readonly string[] = ['dns', 'unix', 'unix-abstract', 'http', 'https'];

function urlFault(url: string): string | undefined {
  const parsing = `parse ${goQuote(url)}: `;
  if (/[\0-\x1f\x7f]/.test(url)) return `${parsing}net/url: invalid control character in URL`;
  const [, scheme, rest = ''] = /^([a-zA-Z][-+.a-zA-Z0-9]*):\/\/([\s\S]*)$/.exec(url) ?? [];
  if (scheme === undefined) return `${parsing}first path segment in URL cannot contain colon`;
  const host = rest.split(/[/?#]/)[0] ?? '';
  const port = /:[^:\]]*$/.exec(host)?.[0] ?? ':';
  if (!/^:\d*$/.test(port)) return `${parsing}invalid port ${goQuote(port)} after host`;
  const odd = /[\s"<>\\^`{|}]/.exec(host)?.[0];
  if (odd !== undefined) return `${parsing}invalid character ${goQuote(odd)} in host name`;
  return endpointSchemes.includes(scheme)
    ? undefined
    : `unsupported scheme: ${scheme}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`;
}
