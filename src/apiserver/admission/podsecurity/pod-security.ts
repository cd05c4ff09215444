import { ownMember } from '../../../base/own.ts';
import {
  isObject,
  type JsonObject,
  metadataOf,
  nameOf,
  objectAt,
  objectsAt,
  sameJson,
  specOf,
  stringAt,
} from '../../../apimachinery/json.ts';
import { invalid } from '../../../apimachinery/status-error.ts';
import { type AdmissionPlugin, type Attributes, refusal } from '../plugin.ts';
import type { CheckedPod } from './findings.ts';
import { compareLevels, type LevelVersion, type Policy, policyOf, textOfLevel } from './policy.ts';
import { violationsOf } from './restricted-checks.ts';

/** Subresources of pods that do not change what is checked. */
const ignored = new Set('exec attach binding eviction log portforward proxy status'.split(' '));

/** Workloads, and where their pod template is. */
const templates: ReadonlyMap<string, readonly string[]> = new Map([
  ['/replicationcontrollers', ['spec', 'template']],
  ['/podtemplates', ['template']],
  ['apps/replicasets', ['spec', 'template']],
  ['apps/deployments', ['spec', 'template']],
  ['apps/statefulsets', ['spec', 'template']],
  ['apps/daemonsets', ['spec', 'template']],
  ['batch/jobs', ['spec', 'template']],
  ['batch/cronjobs', ['spec', 'jobTemplate', 'spec', 'template']],
]);

const keyOf = ({ group, resource }: Attributes['kind']): string => `${group}/${resource}`;

/** How many pods of a namespace are checked when its level changes. */
const mostPods = 3000;

/**
 * Enforces the Pod Security Standards that the labels `pod-security.kubernetes.io/…` of a namespace name: refuses pods, warns of pods and
 * workloads, records violations in the audit event, and warns of existing pods when a namespace becomes stricter. Follows kube-apiserver's
 * plug-in (v1.36).
 */
export const podSecurity: AdmissionPlugin = {
  name: 'PodSecurity',
  handles(operation, kind, subresource) {
    if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
    const key = keyOf(kind);
    if (key === '/pods') return !ignored.has(subresource);
    return subresource === '' && (key === '/namespaces' || templates.has(key));
  },
  validate(attributes) {
    const { kind, object } = attributes;
    if (!object) return;
    const key = keyOf(kind);
    if (key === '/namespaces') checkNamespace(attributes, object);
    else if (key === '/pods') checkPod(attributes, object);
    else checkWorkload(attributes, object, templates.get(key) ?? []);
  },
};

const labelsOf = (object: JsonObject | undefined): JsonObject => objectAt(metadataOf(object), 'labels');

const podOf = (pod: JsonObject): CheckedPod => ({
  annotations: objectAt(metadataOf(pod), 'annotations'),
  spec: specOf(pod),
});

/** @throws {StatusError} 422 for invalid labels */
function checkNamespace({ object, oldObject, context }: Attributes, namespace: JsonObject): void {
  const { policy, faults } = policyOf(labelsOf(object));
  const before = oldObject && policyOf(labelsOf(oldObject));
  if (faults.length > 0 && !(before && sameJson(before.faults, faults)))
    throw invalid('Namespace', '', nameOf(namespace), faults);
  if (!before) return;
  const [now, old] = [policy.enforce, before.policy.enforce];
  if (now.level === 'privileged' || (now.minor === old.minor && compareLevels(now.level, old.level) <= 0))
    return;
  const name = nameOf(namespace);
  const pods = [...context.world.store.list('pods', `${name}/`)].map((entry) => entry.object);
  context.warnings.push(...warningsOf(name, now, pods));
}

/** Returns the warnings about existing pods: each violation once, with the first pod that has it. */
function warningsOf(namespace: string, level: LevelVersion, pods: readonly JsonObject[]): readonly string[] {
  const byReason = new Map<string, string[]>();
  const checked = inTurn(pods).slice(0, mostPods);
  for (const pod of checked) {
    const reason = violationsOf(level, podOf(pod))
      .map((one) => one.reason)
      .join(', ');
    if (reason !== '') byReason.set(reason, [...(byReason.get(reason) ?? []), nameOf(pod)]);
  }
  const lines = [...byReason].map(([reason, names]) => {
    const others = names.length - 1;
    const more = others === 0 ? '' : ` (and ${others} other ${others === 1 ? 'pod' : 'pods'})`;
    return `${[...names].sort()[0] ?? ''}${more}: ${reason}`;
  });
  return [
    ...(checked.length < pods.length
      ? [
          `new PodSecurity enforce level only checked against the first ${checked.length} of ${pods.length} existing pods`,
        ]
      : []),
    ...(lines.length > 0
      ? [
          `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${JSON.stringify(textOfLevel(level))}`,
        ]
      : []),
    ...lines.sort(),
  ];
}

/** Returns pods with one of each controller first. */
function inTurn(pods: readonly JsonObject[]): readonly JsonObject[] {
  const seen = new Set<string>();
  const [first, rest]: [JsonObject[], JsonObject[]] = [[], []];
  for (const pod of pods) {
    const owner = objectsAt(metadataOf(pod), 'ownerReferences').find((one) => one['controller'] === true);
    const uid = stringAt(owner, 'uid');
    (owner && seen.has(uid) ? rest : first).push(pod);
    if (owner) seen.add(uid);
  }
  return [...first, ...rest];
}

/** Reports whether an update may violate the policy anew: containers come, or images change. */
function isSignificant(pod: JsonObject, old: JsonObject): boolean {
  const [spec, before] = [specOf(pod), specOf(old)];
  const images = (key: string, of: JsonObject): readonly string[] =>
    objectsAt(of, key).map((one) => stringAt(one, 'image'));
  if (['containers', 'initContainers'].some((key) => !sameJson(images(key, spec), images(key, before))))
    return true;
  const ephemeral = objectsAt(before, 'ephemeralContainers');
  return objectsAt(spec, 'ephemeralContainers').some((one) => {
    const same = ephemeral.find((other) => other['name'] === one['name']);
    return !same || same['image'] !== one['image'];
  });
}

function policyFor({ context, namespace }: Attributes): ReturnType<typeof policyOf> | undefined {
  const found = context.world.store.get('namespaces', namespace);
  return found && policyOf(labelsOf(found.object));
}

const isPrivileged = (...levels: readonly LevelVersion[]): boolean =>
  levels.every(({ level }) => level === 'privileged');

/** @throws {StatusError} 403 */
function checkPod(attributes: Attributes, pod: JsonObject): void {
  const found = policyFor(attributes);
  if (!found) return;
  const { policy, faults } = found;
  if (faults.length === 0 && isPrivileged(policy.enforce, policy.audit, policy.warn)) {
    annotate(attributes, 'enforce-policy', 'privileged:latest');
    return;
  }
  if (attributes.oldObject && !isSignificant(pod, attributes.oldObject)) return;
  annotate(attributes, 'enforce-policy', textOfLevel(policy.enforce));
  annotateFaults(attributes, faults);
  const refused = violation(policy.enforce, podOf(pod));
  recordAudit(attributes, policy, podOf(pod));
  if (refused !== undefined) throw refusal(attributes, `violates ${refused}`);
  warn(attributes, policy, podOf(pod));
}

function checkWorkload(attributes: Attributes, workload: JsonObject, path: readonly string[]): void {
  const found = policyFor(attributes);
  if (!found) return;
  const { policy, faults } = found;
  if (faults.length === 0 && isPrivileged(policy.audit, policy.warn)) return;
  let template: unknown = workload;
  for (const key of path) template = isObject(template) ? ownMember(template, key) : undefined;
  if (!isObject(template)) return;
  annotateFaults(attributes, faults);
  recordAudit(attributes, policy, podOf(template));
  warn(attributes, policy, podOf(template));
}

/** Returns the text of a violation; `undefined`: the pod complies. */
function violation(level: LevelVersion, pod: CheckedPod): string | undefined {
  const all = violationsOf(level, pod);
  if (all.length === 0) return undefined;
  const details = all.map(({ reason, detail }) => `${reason} (${detail})`).join(', ');
  return `PodSecurity ${JSON.stringify(textOfLevel(level))}: ${details}`;
}

function annotate({ context }: Attributes, key: string, value: string): void {
  context.annotate?.(`pod-security.kubernetes.io/${key}`, value);
}

function annotateFaults(attributes: Attributes, faults: ReturnType<typeof policyOf>['faults']): void {
  if (faults.length === 0) return;
  const texts = faults.map(({ field, message }) => `${field}: ${message}`);
  const all = texts.length > 1 ? `[${texts.join(', ')}]` : (texts[0] ?? '');
  annotate(attributes, 'error', `Failed to parse policy: ${all}`);
}

function recordAudit(attributes: Attributes, { audit }: Policy, pod: CheckedPod): void {
  const found = violation(audit, pod);
  if (found !== undefined) annotate(attributes, 'audit-violations', `would violate ${found}`);
}

function warn({ context }: Attributes, policy: Policy, pod: CheckedPod): void {
  const found = violation(policy.warn, pod);
  if (found !== undefined) context.warnings.push(`would violate ${found}`);
}
