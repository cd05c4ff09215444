import { ownMember } from '../../../base/own.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  stringAt,
} from '../../../apimachinery/json.ts';
import {
  type CheckedPod,
  containersOf,
  foundIn,
  named,
  plural,
  quoted,
  securityOf,
  settersOf,
  sorted,
  type Violation,
} from './findings.ts';

/** Checks a pod by the rules of a minor version; `undefined`: it complies. */
export type Check = (pod: CheckedPod, minor: number) => Violation | undefined;

const appArmorHead = 'container.apparmor.security.beta.kubernetes.io/';

const appArmorProfile: Check = ({ annotations, spec }) => {
  const typeOf = (holder: JsonObject): readonly string[] => {
    const profile = securityOf(holder)['appArmorProfile'];
    const type = isObject(profile) ? stringAt(profile, 'type') : 'RuntimeDefault';
    return ['RuntimeDefault', 'Localhost'].includes(type) ? [] : [type];
  };
  const pod = typeOf(spec);
  const { containers, values } = foundIn(spec, typeOf);
  const forbidden = Object.entries(annotations as Readonly<Record<string, string>>)
    .filter(([key, value]) => key.startsWith(appArmorHead) && !isAppArmorFit(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const setters = [
    ...(settersOf(pod.length > 0, containers)?.split(' and ') ?? []),
    ...(forbidden.length > 0 ? [plural('annotation', 'annotations', forbidden.length)] : []),
  ];
  if (setters.length === 0) return undefined;
  const all = [...sorted([...pod, ...values]), ...forbidden];
  return {
    reason: plural('forbidden AppArmor profile', 'forbidden AppArmor profiles', all.length),
    detail: `${setters.join(' and ')} must not set AppArmor profile type to ${quoted(all)}`,
  };
};

const isAppArmorFit = (value: string): boolean =>
  value === '' || value === 'runtime/default' || value.startsWith('localhost/');

const harmless = new Set(
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(
    ' ',
  ),
);

const capabilities: Check = ({ spec }) => {
  const { containers, values } = foundIn(spec, (container) =>
    (listAt(objectAt(securityOf(container), 'capabilities'), 'add') as string[]).filter(
      (one) => !harmless.has(one),
    ),
  );
  return containers.length === 0
    ? undefined
    : {
        reason: 'non-default capabilities',
        detail: `${named(containers)} must not include ${quoted(values)} in securityContext.capabilities.add`,
      };
};

const hostNamespaces: Check = ({ spec }) => {
  const set = ['hostNetwork', 'hostPID', 'hostIPC'].filter((key) => ownMember(spec, key) === true);
  return set.length === 0
    ? undefined
    : { reason: 'host namespaces', detail: set.map((key) => `${key}=true`).join(', ') };
};

const hostPathVolumes: Check = ({ spec }) => {
  const names = objectsAt(spec, 'volumes')
    .filter((volume) => isObject(volume['hostPath']))
    .map((volume) => stringAt(volume, 'name'));
  return names.length === 0
    ? undefined
    : { reason: 'hostPath volumes', detail: `${plural('volume', 'volumes', names.length)} ${quoted(names)}` };
};

const hostPorts: Check = ({ spec }) => {
  const { containers, values } = foundIn(spec, (container) =>
    objectsAt(container, 'ports')
      .map(({ hostPort }) => (typeof hostPort === 'number' ? String(hostPort) : '0'))
      .filter((port) => port !== '0'),
  );
  return containers.length === 0
    ? undefined
    : {
        reason: 'hostPort',
        detail: `${named(containers)} ${plural('uses', 'use', containers.length)} ${plural('hostPort', 'hostPorts', values.length)} ${values.join(', ')}`,
      };
};

const hostsIn = (handler: JsonObject): readonly string[] =>
  ['httpGet', 'tcpSocket']
    .map((key) => stringAt(objectAt(handler, key), 'host'))
    .filter((host) => host !== '');

const hostProbes: Check = ({ spec }, minor) => {
  if (minor < 34) return undefined;
  const { containers, values } = foundIn(spec, (container) => [
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].flatMap((key) =>
      hostsIn(objectAt(container, key)),
    ),
    ...['postStart', 'preStop'].flatMap((key) => hostsIn(objectAt(objectAt(container, 'lifecycle'), key))),
  ]);
  if (containers.length === 0) return undefined;
  const inOrder = [...containers].sort((a, b) => (stringAt(a, 'name') < stringAt(b, 'name') ? -1 : 1));
  const what = 'probe or lifecycle host';
  return {
    reason: what,
    detail: `${named(inOrder)} ${plural('uses', 'use', containers.length)} ${plural(what, `${what}s`, values.length)} ${quoted(values)}`,
  };
};

const privileged: Check = ({ spec }) => {
  const containers = containersOf(spec).filter((one) => securityOf(one)['privileged'] === true);
  return containers.length === 0
    ? undefined
    : { reason: 'privileged', detail: `${named(containers)} must not set securityContext.privileged=true` };
};

/** Reports whether a pod has its own user namespace: since 1.35 it may then do more. */
export const hasOwnUsers = ({ spec }: CheckedPod, minor: number): boolean =>
  minor >= 35 && spec['hostUsers'] === false;

/** Allows only the default mount of `/proc`. */
export const procMount: Check = ({ spec }) => {
  const { containers, values } = foundIn(spec, (container) => {
    const type = stringAt(securityOf(container), 'procMount') || 'Default';
    return type === 'Default' ? [] : [type];
  });
  return containers.length === 0
    ? undefined
    : {
        reason: 'procMount',
        detail: `${named(containers)} must not set securityContext.procMount to ${quoted(values)}`,
      };
};

const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t'];

const seLinuxOptions: Check = ({ spec }, minor) => {
  const fit = minor >= 31 ? [...seLinuxTypes, 'container_engine_t'] : seLinuxTypes;
  const optionsOf = (holder: JsonObject): JsonObject => objectAt(securityOf(holder), 'seLinuxOptions');
  const isWrong = (holder: JsonObject): boolean =>
    !fit.includes(stringAt(optionsOf(holder), 'type')) ||
    stringAt(optionsOf(holder), 'user') !== '' ||
    stringAt(optionsOf(holder), 'role') !== '';
  const wrong = [spec, ...containersOf(spec)].filter(isWrong);
  const setters = settersOf(
    isWrong(spec),
    wrong.filter((one) => one !== spec),
  );
  if (setters === undefined) return undefined;
  const types = sorted(
    wrong.map((one) => stringAt(optionsOf(one), 'type')).filter((one) => !fit.includes(one)),
  );
  const isSet = (key: string): boolean => wrong.some((one) => stringAt(optionsOf(one), key) !== '');
  const data = [
    ...(types.length > 0 ? [`${plural('type', 'types', types.length)} ${quoted(types)}`] : []),
    ...['user', 'role'].filter(isSet).map((key) => `${key} may not be set`),
  ];
  return {
    reason: 'seLinuxOptions',
    detail: `${setters} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}`,
  };
};

/** Returns the type of a seccomp profile; `undefined`: there is none. */
export const seccompTypeOf = (holder: JsonObject): string | undefined => {
  const profile = securityOf(holder)['seccompProfile'];
  return isObject(profile) ? stringAt(profile, 'type') : undefined;
};

export const isSeccompFit = (type: string | undefined): boolean =>
  type === 'Localhost' || type === 'RuntimeDefault';

/** Forbids seccomp profiles that confine nothing. */
export const seccompSet: Check = ({ spec }) => {
  const wrongIn = (holder: JsonObject): readonly string[] => {
    const type = seccompTypeOf(holder);
    return type === undefined || isSeccompFit(type) ? [] : [type];
  };
  const pod = wrongIn(spec);
  const { containers, values } = foundIn(spec, wrongIn);
  const setters = settersOf(pod.length > 0, containers);
  return setters === undefined
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(sorted([...pod, ...values]))}`,
      };
};

const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/';

/** Before 1.19 profiles were annotations. */
const seccompAnnotations: Check = ({ annotations, spec }) => {
  const keys = [
    seccompPod,
    ...containersOf(spec).map((one) => `${seccompContainer}${stringAt(one, 'name')}`),
  ];
  const forbidden = sorted(
    keys
      .filter((key) => Object.hasOwn(annotations, key))
      .map((key) => [key, stringAt(annotations, key)] as const)
      .filter(
        ([, value]) =>
          !['runtime/default', 'docker/default'].includes(value) && !value.startsWith('localhost/'),
      )
      .map(([key, value]) => `${key}=${JSON.stringify(value)}`),
  );
  return forbidden.length === 0
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `forbidden ${plural('annotation', 'annotations', forbidden.length)} ${forbidden.join(', ')}`,
      };
};

/** Sysctls that a pod may set, with the minor version since which it may. */
const safeSysctls: ReadonlyMap<string, number> = new Map([
  ['kernel.shm_rmid_forced', 0],
  ['net.ipv4.ip_local_port_range', 0],
  ['net.ipv4.tcp_syncookies', 0],
  ['net.ipv4.ping_group_range', 0],
  ['net.ipv4.ip_unprivileged_port_start', 0],
  ['net.ipv4.ip_local_reserved_ports', 27],
  ['net.ipv4.tcp_keepalive_time', 29],
  ['net.ipv4.tcp_fin_timeout', 29],
  ['net.ipv4.tcp_keepalive_intvl', 29],
  ['net.ipv4.tcp_keepalive_probes', 29],
  ['net.ipv4.tcp_rmem', 32],
  ['net.ipv4.tcp_wmem', 32],
]);

const isSafe = (sysctl: string, minor: number): boolean => {
  const since = safeSysctls.get(sysctl);
  return since !== undefined && since <= minor;
};

const sysctls: Check = ({ spec }, minor) => {
  const names = objectsAt(securityOf(spec), 'sysctls')
    .map((one) => stringAt(one, 'name'))
    .filter((name) => !isSafe(name, minor));
  return names.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: names.join(', ') };
};

const hostProcess: Check = ({ spec }) => {
  const isHost = (holder: JsonObject): boolean =>
    objectAt(securityOf(holder), 'windowsOptions')['hostProcess'] === true;
  const setters = settersOf(isHost(spec), containersOf(spec).filter(isHost));
  return setters === undefined
    ? undefined
    : {
        reason: 'hostProcess',
        detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true`,
      };
};

/** The checks of the level `baseline`, by the names that order them. */
export const baselineChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['appArmorProfile', appArmorProfile],
  ['capabilities_baseline', capabilities],
  ['hostNamespaces', hostNamespaces],
  ['hostPathVolumes', hostPathVolumes],
  ['hostPorts', hostPorts],
  ['hostProbesAndHostLifecycle', hostProbes],
  ['privileged', privileged],
  ['procMount', (pod, minor) => (hasOwnUsers(pod, minor) ? undefined : procMount(pod, minor))],
  ['seLinuxOptions', seLinuxOptions],
  ['seccompProfile_baseline', (pod, minor) => (minor < 19 ? seccompAnnotations : seccompSet)(pod, minor)],
  ['sysctls', sysctls],
  ['windowsHostProcess', hostProcess],
]);
