import { AgentError } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import type { Pod } from '../kube/types.ts';
import { admitted, type AdmitResult, refused } from './admit-result.ts';

type SysctlNamespace = 'ipc' | 'net';

/** Namespaced sysctls by exact name (two of them only as the part before a `*`) and by prefix. */
const namespacedNames: ReadonlyMap<string, SysctlNamespace> = new Map([
  ['kernel.sem', 'ipc'],
  ['kernel.shm', 'ipc'],
  ['kernel.shmall', 'ipc'],
  ['kernel.shmmax', 'ipc'],
  ['kernel.shmmni', 'ipc'],
  ['kernel.shm_rmid_forced', 'ipc'],
  ['kernel.msg', 'ipc'],
  ['kernel.msgmax', 'ipc'],
  ['kernel.msgmnb', 'ipc'],
  ['kernel.msgmni', 'ipc'],
]);
const namespacedPrefixes: readonly (readonly [string, SysctlNamespace])[] = [
  ['fs.mqueue.', 'ipc'],
  ['net.', 'net'],
];

/** Sysctls that are safe, with the kernel version since which they are namespaced (kubelet `safeSysctls`). */
const safeSysctls: readonly (readonly [name: string, sinceKernel: string])[] = [
  ['kernel.shm_rmid_forced', ''],
  ['net.ipv4.ip_local_port_range', ''],
  ['net.ipv4.tcp_syncookies', ''],
  ['net.ipv4.ping_group_range', ''],
  ['net.ipv4.ip_unprivileged_port_start', ''],
  ['net.ipv4.ip_local_reserved_ports', '3.16'],
  ['net.ipv4.tcp_keepalive_time', '4.5'],
  ['net.ipv4.tcp_fin_timeout', '4.6'],
  ['net.ipv4.tcp_keepalive_intvl', '4.5'],
  ['net.ipv4.tcp_keepalive_probes', '4.5'],
  ['net.ipv4.tcp_rmem', '4.15'],
  ['net.ipv4.tcp_wmem', '4.15'],
];

const nameSyntax = '([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]';
const patternSyntax = new RegExp(`^${nameSyntax}$`);
const longestName = 253;

/**
 * Returns the dotted form of a sysctl name. When its first separator is a slash, slashes separate elements and dots belong to them,
 * so the two are swapped.
 */
export function dotted(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== '/') return name;
  return name.replace(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

/** Returns the safe sysctls of a kernel such as `6.1.0-18-amd64`; for an unknown version, those that are safe on every kernel. */
export function safeSysctlsOf(kernel: string): readonly string[] {
  const version = versionOf(kernel);
  return safeSysctls
    .filter(([, since]) => since === '' || (version && atLeast(version, versionOf(since) ?? [])))
    .map(([name]) => name);
}

/** Returns the leading numbers of a version, at least two. Follows Go `version.ParseGeneric`. */
function versionOf(text: string): readonly number[] | undefined {
  const numbers = /^\s*v?((?:0|[1-9]\d*)(?:\.\d+)+)/.exec(text)?.[1];
  return numbers?.split('.').map(Number);
}

function atLeast(version: readonly number[], since: readonly number[]): boolean {
  for (const [i, required] of since.entries()) {
    const difference = (version[i] ?? 0) - required;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

const namespaceOf = (name: string): SysctlNamespace | undefined =>
  namespacedNames.get(name) ?? namespacedPrefixes.find(([prefix]) => name.startsWith(prefix))?.[1];

/**
 * SysctlAllowlist decides which sysctls pods may set: names, and prefixes that end in `*`.
 *
 * Follows kubelet `sysctl.patternAllowlist`.
 */
export class SysctlAllowlist {
  readonly #names = new Map<string, SysctlNamespace>();
  readonly #prefixes = new Map<string, SysctlNamespace>();

  /** @throws {AgentError} `invalid_argument` for a malformed pattern or one outside the namespaced sysctls */
  constructor(patterns: readonly string[]) {
    for (const pattern of patterns) this.#add(pattern);
  }

  #add(pattern: string): void {
    if (pattern.length > longestName || !patternSyntax.test(pattern))
      throw new AgentError(
        'invalid_argument',
        `sysctl ${goQuote(pattern)} must have at most ${longestName} characters and match regex ${nameSyntax}`,
      );
    const name = dotted(pattern);
    const prefix = name.endsWith('*');
    const stem = prefix ? name.slice(0, -1) : name;
    const namespace = namespaceOf(stem);
    if (!namespace)
      throw new AgentError('invalid_argument', `the sysctls ${goQuote(stem)} are not known to be namespaced`);
    (prefix ? this.#prefixes : this.#names).set(stem, namespace);
  }

  /** Rejects a pod for its first sysctl that is not allowed. */
  admit(pod: Pod): AdmitResult {
    for (const { name } of pod.spec?.securityContext?.sysctls ?? []) {
      const fault = this.#fault(dotted(name), pod);
      if (fault !== undefined) return refused('SysctlForbidden', `forbidden sysctl: ${fault}`);
    }
    return admitted;
  }

  #fault(name: string, pod: Pod): string | undefined {
    const namespace =
      this.#names.get(name) ?? [...this.#prefixes].find(([prefix]) => name.startsWith(prefix))?.[1];
    if (!namespace) return `${goQuote(name)} not allowlisted`;
    if (namespace === 'net' && pod.spec?.hostNetwork)
      return `${goQuote(name)} not allowed with host Net enabled`;
    if (namespace === 'ipc' && pod.spec?.hostIPC) return `${goQuote(name)} not allowed with host IPC enabled`;
    return undefined;
  }
}
