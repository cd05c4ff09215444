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
  baselineChecks,
  type Check,
  hasOwnUsers,
  isSeccompFit,
  procMount,
  seccompSet,
  seccompTypeOf,
} from './baseline-checks.ts';
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
import type { LevelVersion } from './policy.ts';

const isWindows = ({ spec }: CheckedPod, minor: number): boolean =>
  minor >= 25 && stringAt(objectAt(spec, 'os'), 'name') === 'windows';

const privilegeEscalation: Check = ({ spec }) => {
  const containers = containersOf(spec).filter(
    (one) => securityOf(one)['allowPrivilegeEscalation'] !== false,
  );
  return containers.length === 0
    ? undefined
    : {
        reason: 'allowPrivilegeEscalation != false',
        detail: `${named(containers)} must set securityContext.allowPrivilegeEscalation=false`,
      };
};

const capabilities: Check = ({ spec }) => {
  const listOf = (container: JsonObject, key: string): readonly string[] =>
    listAt(objectAt(securityOf(container), 'capabilities'), key) as string[];
  const undropped = containersOf(spec).filter((one) => !listOf(one, 'drop').includes('ALL'));
  const { containers, values } = foundIn(spec, (one) =>
    listOf(one, 'add').filter((capability) => capability !== 'NET_BIND_SERVICE'),
  );
  const details = [
    ...(undropped.length > 0
      ? [`${named(undropped)} must set securityContext.capabilities.drop=["ALL"]`]
      : []),
    ...(containers.length > 0
      ? [`${named(containers)} must not include ${quoted(values)} in securityContext.capabilities.add`]
      : []),
  ];
  return details.length === 0
    ? undefined
    : { reason: 'unrestricted capabilities', detail: details.join('; ') };
};

const usualVolumes =
  'configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret'.split(' ');
const otherVolumes =
  'hostPath gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs rbd flexVolume cinder cephfs flocker fc azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO storageos'.split(
    ' ',
  );

const volumes: Check = ({ spec }) => {
  const bad = objectsAt(spec, 'volumes').filter(
    (one) => !usualVolumes.some((key) => isObject(ownMember(one, key))),
  );
  if (bad.length === 0) return undefined;
  const types = sorted(
    bad.map((one) => otherVolumes.find((key) => isObject(ownMember(one, key))) ?? 'unknown'),
  );
  const names = quoted(bad.map((one) => stringAt(one, 'name')));
  const what = 'restricted volume type';
  return {
    reason: 'restricted volume types',
    detail: `${plural('volume', 'volumes', bad.length)} ${names} ${plural('uses', 'use', bad.length)} ${plural(what, `${what}s`, types.length)} ${quoted(types)}`,
  };
};

const nonRoot: Check = ({ spec }) => {
  const of = (holder: JsonObject): unknown => securityOf(holder)['runAsNonRoot'];
  const all = containersOf(spec);
  const setters = settersOf(
    of(spec) === false,
    all.filter((one) => of(one) === false),
  );
  const reason = 'runAsNonRoot != true';
  if (setters !== undefined)
    return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  const unset = of(spec) === true ? [] : all.filter((one) => typeof of(one) !== 'boolean');
  return unset.length === 0
    ? undefined
    : { reason, detail: `pod or ${named(unset)} must set securityContext.runAsNonRoot=true` };
};

const notRoot: Check = ({ spec }) => {
  const isRoot = (holder: JsonObject): boolean => securityOf(holder)['runAsUser'] === 0;
  const setters = settersOf(isRoot(spec), containersOf(spec).filter(isRoot));
  return setters === undefined
    ? undefined
    : { reason: 'runAsUser=0', detail: `${setters} must not set runAsUser=0` };
};

const seccomp: Check = (pod, minor) => {
  const wrong = seccompSet(pod, minor);
  if (wrong) return wrong;
  const unset = isSeccompFit(seccompTypeOf(pod.spec))
    ? []
    : containersOf(pod.spec).filter((one) => seccompTypeOf(one) === undefined);
  return unset.length === 0
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `pod or ${named(unset)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
      };
};

interface Restriction {
  readonly check: Check;
  /** The minor version since which it applies. */
  readonly since: number;
  /** The check of `baseline` that it replaces. */
  readonly replaces?: string;
  /** Reports whether a pod is exempt. */
  readonly spares?: (pod: CheckedPod, minor: number) => boolean;
}

/** The checks that the level `restricted` adds, in the order of their names. */
const restrictions: readonly Restriction[] = [
  { check: privilegeEscalation, since: 8, spares: isWindows },
  { check: capabilities, since: 22, replaces: 'capabilities_baseline', spares: isWindows },
  { check: procMount, since: 35, replaces: 'procMount' },
  { check: volumes, since: 0, replaces: 'hostPathVolumes' },
  { check: nonRoot, since: 0, spares: hasOwnUsers },
  { check: notRoot, since: 23, spares: hasOwnUsers },
  { check: seccomp, since: 19, replaces: 'seccompProfile_baseline', spares: isWindows },
];

/** Returns how a pod violates a level. Follows kube-apiserver's admission plug-in PodSecurity (v1.36). */
export function violationsOf({ level, minor }: LevelVersion, pod: CheckedPod): readonly Violation[] {
  if (level === 'privileged') return [];
  const applying = level === 'restricted' ? restrictions.filter(({ since }) => since <= minor) : [];
  const replaced = new Set(applying.flatMap(({ replaces }) => replaces ?? []));
  return [
    ...[...baselineChecks].flatMap(([name, check]) => (replaced.has(name) ? [] : (check(pod, minor) ?? []))),
    ...applying.flatMap(({ check, spares }) => (spares?.(pod, minor) ? [] : (check(pod, minor) ?? []))),
  ];
}
