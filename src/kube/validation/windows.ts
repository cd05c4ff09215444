import { ownMember, tableOf } from '../../base/own.ts';
import type { Container, Pod } from '../types.ts';
import { type Faults, forbidden, invalid, invalidEach } from './field-error.ts';
import { dns1123Subdomain } from './name-rules.ts';
import type { PodContext } from './options.ts';

type WindowsOptions = NonNullable<NonNullable<Container['securityContext']>['windowsOptions']>;

const mostSpecKiB = 64;

/** Validates Windows options. */
export function* validateWindowsOptions(field: string, options: WindowsOptions | undefined): Faults {
  if (!options) return;
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: spec, runAsUserName } = options;
  if (name !== undefined) yield* invalidEach(`${field}.gmsaCredentialSpecName`, name, dns1123Subdomain(name));
  if (spec === '')
    yield invalid(`${field}.gmsaCredentialSpec`, spec, 'gmsaCredentialSpec cannot be an empty string');
  else if (spec !== undefined && Buffer.byteLength(spec) > mostSpecKiB * 1024)
    yield invalid(
      `${field}.gmsaCredentialSpec`,
      spec,
      `gmsaCredentialSpec size must be under ${mostSpecKiB} KiB`,
    );
  if (runAsUserName !== undefined) {
    const fault = userNameFault(runAsUserName);
    if (fault !== undefined) yield invalid(`${field}.runAsUserName`, runAsUserName, fault);
  }
}

function userNameFault(name: string): string | undefined {
  if (name === '') return 'runAsUserName cannot be an empty string';

  if (/[\u0000-\u001f\u007f]/.test(name)) return 'runAsUserName cannot contain control characters';
  const parts = name.split('\\');
  if (parts.length > 2) return 'runAsUserName cannot contain more than one backslash';
  const [domain, user = ''] = parts.length === 2 ? parts : [undefined, name];
  return (domain === undefined ? undefined : domainFault(domain)) ?? accountFault(user);
}

function domainFault(domain: string): string | undefined {
  if (domain.length >= 256) return "runAsUserName's Domain length must be under 256 characters";
  const netBios = /^[^\\/:*?|."<>]{1,15}$/.test(domain) && !domain.startsWith('.');
  const dns =
    domain.length <= 255 &&
    domain.split('.').every((part) => /^[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$/.test(part));
  return netBios || dns ? undefined : "runAsUserName's Domain doesn't match the NetBios nor the DNS format";
}

function accountFault(user: string): string | undefined {
  if (user === '') return "runAsUserName's User cannot be empty";
  if (user.length > 104) return "runAsUserName's User length must not be longer than 104 characters";
  if (/["/\\:;|=,+*?<>@[\]]/.test(user))
    return 'runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]';
  return /^[. ]+$/.test(user) ? "runAsUserName's User cannot contain only periods or spaces" : undefined;
}

/** Returns every container of a spec with its field. */
export function containersOf(pod: Pod): readonly (readonly [string, Container])[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const named = (field: string, list: readonly Container[]): (readonly [string, Container])[] =>
    list.map((container, i) => [`spec.${field}[${i}]`, container] as const);
  return [
    ...named('initContainers', initContainers),
    ...named('containers', containers),
    ...named('ephemeralContainers', ephemeralContainers),
  ];
}

/** Validates Windows host process containers: all or none, on the host network. */
export function* validateHostProcess(pod: Pod, context: PodContext): Faults {
  const ofPod = pod.spec?.securityContext?.windowsOptions?.hostProcess;
  const all = containersOf(pod).map(([field, { securityContext }]) => ({
    field: `${field}.securityContext.windowsOptions.hostProcess`,
    own: securityContext?.windowsOptions?.hostProcess,
  }));
  for (const { field, own } of all)
    if (ofPod !== undefined && own !== undefined && ofPod !== own)
      yield invalid(
        field,
        own,
        `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
      );
  const count = all.filter(({ own }) => own ?? ofPod ?? false).length;
  if (count > 0) yield* hostProcessPod(pod, count === all.length, context);
}

function* hostProcessPod(pod: Pod, everyContainer: boolean, context: PodContext): Faults {
  if (!everyContainer)
    yield invalid(
      'spec',
      '',
      'If pod contains any hostProcess containers then all containers must be HostProcess containers',
    );
  if (!pod.spec?.hostNetwork)
    yield invalid(
      'spec.hostNetwork',
      false,
      'hostNetwork must be true if pod contains any hostProcess containers',
    );
  if (context.options.allowPrivileged === false)
    yield forbidden('spec', 'hostProcess containers are disallowed by cluster policy');
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields not allowed on Windows: where each is, its name, and the field in the message. */
const notOnWindows: readonly (readonly [holder: 'spec' | 'security', key: string, field: string])[] = [
  ['security', 'appArmorProfile', 'securityContext.appArmorProfile'],
  ['security', 'seLinuxOptions', 'securityContext.seLinuxOptions'],
  ['spec', 'hostUsers', 'hostUsers'],
  ['spec', 'hostPID', 'hostPID'],
  ['spec', 'hostIPC', 'hostIPC'],
  ['security', 'seccompProfile', 'securityContext.seccompProfile'],
  ['security', 'fsGroup', 'securityContext.fsGroup'],
  ['security', 'fsGroupChangePolicy', 'securityContext.fsGroupChangePolicy'],
  ['security', 'sysctls', 'securityContext.sysctls'],
  ['spec', 'shareProcessNamespace', 'shareProcessNamespace'],
  ['security', 'runAsUser', 'securityContext.runAsUser'],
  ['security', 'runAsGroup', 'securityContext.runAsGroup'],
  ['security', 'supplementalGroups', 'securityContext.supplementalGroups'],
  ['security', 'supplementalGroupsPolicy', 'securityContext.supplementalGroupsPolicy'],
  ['security', 'seLinuxChangePolicy', 'securityContext.seLinuxChangePolicy'],
];
/** Fields for which false and an empty list count as absent. */
const notEmpty: Readonly<Record<string, (value: unknown) => boolean>> = tableOf({
  hostPID: (value) => value === true,
  hostIPC: (value) => value === true,
  sysctls: (value) => Array.isArray(value) && value.length > 0,
});
const notInWindowsContainers = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
];

/** Rejects fields that Windows pods cannot have. */
export function* validateWindowsPod(pod: Pod): Faults {
  const spec = (pod.spec ?? {}) as unknown as Fields;
  const security = (pod.spec?.securityContext ?? {}) as Fields;
  const holders = { spec, security };
  for (const [holder, key, field] of notOnWindows) {
    const value = ownMember(holders[holder], key);
    if (notEmpty[key]?.(value) ?? value !== undefined)
      yield forbidden(`spec.${field}`, 'cannot be set for a windows pod');
  }
  for (const [field, { securityContext }] of containersOf(pod))
    for (const key of notInWindowsContainers)
      if (ownMember(securityContext as Fields | undefined, key) !== undefined)
        yield forbidden(`${field}.securityContext.${key}`, 'cannot be set for a windows pod');
}

/** Rejects fields that Linux pods cannot have. */
export function* validateLinuxPod(pod: Pod): Faults {
  const detail = 'windows options cannot be set for a linux pod';
  if (pod.spec?.securityContext?.windowsOptions)
    yield forbidden('spec.securityContext.windowsOptions', detail);
  for (const [field, { securityContext }] of containersOf(pod))
    if (securityContext?.windowsOptions) yield forbidden(`${field}.securityContext.windowsOptions`, detail);
}
