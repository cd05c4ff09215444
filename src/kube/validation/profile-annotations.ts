import { ownMember } from '../../base/own.ts';
import type { Container, Pod } from '../types.ts';
import { type Faults, forbidden } from './field-error.ts';
import { containersOf } from './windows.ts';

export type Profile = { readonly type?: string; readonly localhostProfile?: string };

const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/';
/** Prefix of annotations with a container's AppArmor profile. */
export const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';

/** Validates profiles that are set both by annotation and by field: they must match. */
export function* validateProfileAnnotations(pod: Pod): Faults {
  const map = pod.metadata?.annotations ?? {};
  const ofPod = pod.spec?.securityContext;
  yield* match('spec.securityContext.seccompProfile', 'seccomp', map[seccompPod], ofPod?.seccompProfile);
  for (const [field, { name, securityContext }] of containersOf(pod))
    yield* match(
      `${field}.securityContext.seccompProfile`,
      'seccomp',
      ownMember(map, `${seccompContainer}${name}`),
      securityContext?.seccompProfile,
    );
  if (pod.spec?.os?.name === 'windows') return;
  for (const [field, container] of containersOf(pod)) yield* appArmor(field, container, pod);
}

function* appArmor(field: string, { name, securityContext }: Container, pod: Pod): Faults {
  const annotation = ownMember(pod.metadata?.annotations, `${appArmorPrefix}${name}`);
  const profile = securityContext?.appArmorProfile ?? pod.spec?.securityContext?.appArmorProfile;
  yield* match(`${field}.securityContext.appArmorProfile`, 'apparmor', annotation, profile);
}

type Kind = 'seccomp' | 'apparmor';

/** Annotation values of each profile type without a file name. */
const spellings: Readonly<Record<Kind, Readonly<Record<string, readonly string[]>>>> = {
  seccomp: { RuntimeDefault: ['runtime/default', 'docker/default'], Unconfined: ['unconfined'] },
  apparmor: { RuntimeDefault: ['runtime/default'], Unconfined: ['unconfined'] },
};
const localhost = 'localhost/';

function* match(
  field: string,
  kind: Kind,
  annotation: string | undefined,
  profile: Profile | undefined,
): Faults {
  if (annotation === undefined || !profile) return;
  const { type = '', localhostProfile } = profile;
  const agrees =
    type === 'Localhost'
      ? annotation.startsWith(localhost)
      : (ownMember(spellings[kind], type)?.includes(annotation) ?? true);
  if (!agrees) yield forbidden(`${field}.type`, `${kind} type in annotation and field must match`);
  else if (type === 'Localhost' && annotation.slice(localhost.length) !== localhostProfile)
    yield forbidden(`${field}.localhostProfile`, `${kind} profile in annotation and field must match`);
}

/** Returns the profile of an AppArmor annotation; `undefined` when it is invalid. Follows Kubernetes `ApparmorFieldForAnnotation`. */
export function appArmorOfAnnotation(annotation: string): Profile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  const [, localhostProfile] = /^localhost\/(\S(?:.*\S)?)$/s.exec(annotation) ?? [];
  return localhostProfile === undefined ? undefined : { type: 'Localhost', localhostProfile };
}
