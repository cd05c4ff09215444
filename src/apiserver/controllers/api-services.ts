import { ownMember } from '../../base/own.ts';
import { type JsonObject, nameOf, sameJson, specOf, valueAt } from '../../apimachinery/json.ts';
import { builtIn, groups, type Kind, kinds } from '../../apimachinery/kinds.ts';
import type { CustomResources } from '../apiextensions/custom-resources.ts';
import { createOwn, type OwnDeps, putOwn } from './own-objects.ts';

const apiServices = builtIn('apiservices', 'apiregistration.k8s.io');
const managedLabel = 'kube-aggregator.kubernetes.io/automanaged';

/** Priorities of groups, and of their versions. Follows kube-apiserver `apiVersionPriorities` (v1.36). */
const priorities: ReadonlyMap<string, readonly [group: number, versions: Readonly<Record<string, number>>]> =
  new Map([
    ['', [18_000, { v1: 1 }]],
    ['apps', [17_800, { v1: 15 }]],
    ['events.k8s.io', [17_750, { v1: 15 }]],
    ['authentication.k8s.io', [17_700, { v1: 15 }]],
    ['authorization.k8s.io', [17_600, { v1: 15 }]],
    ['autoscaling', [17_500, { v1: 15, v2: 30 }]],
    ['batch', [17_400, { v1: 15 }]],
    ['certificates.k8s.io', [17_300, { v1: 15, v1beta1: 9 }]],
    ['networking.k8s.io', [17_200, { v1: 15 }]],
    ['policy', [17_100, { v1: 15 }]],
    ['rbac.authorization.k8s.io', [17_000, { v1: 15 }]],
    ['storage.k8s.io', [16_800, { v1: 15 }]],
    ['admissionregistration.k8s.io', [16_700, { v1: 15 }]],
    ['apiextensions.k8s.io', [16_700, { v1: 15 }]],
    ['scheduling.k8s.io', [16_600, { v1: 15 }]],
    ['coordination.k8s.io', [16_500, { v1: 15 }]],
    ['node.k8s.io', [16_300, { v1: 15 }]],
    ['discovery.k8s.io', [16_200, { v1: 15 }]],
    ['resource.k8s.io', [16_200, { v1: 21 }]],
    ['flowcontrol.apiserver.k8s.io', [16_100, { v1: 21 }]],
    ['metrics.k8s.io', [100, { v1beta1: 100 }]],
  ]);

const apiService = (
  [group, version]: readonly [string, string],
  [groupPriorityMinimum, versionPriority]: readonly [number, number],
  managed: 'onstart' | 'true',
): JsonObject => ({
  metadata: { name: `${version}.${group}`, labels: { [managedLabel]: managed } },
  spec: { ...(group !== '' && { group }), version, groupPriorityMinimum, versionPriority },
});

/** Returns the API services of the groups and versions that have priorities. */
const servicesOf = (served: readonly Kind[]): JsonObject[] =>
  groups(served).flatMap(([group, versions]) =>
    versions.flatMap((version) => {
      const [own, ofVersions] = priorities.get(group) ?? [0, {}];
      const ofVersion = ownMember(ofVersions, version);
      return ofVersion === undefined ? [] : [apiService([group, version], [own, ofVersion], 'onstart')];
    }),
  );

/** What is served besides the built-in kinds. */
export interface ServedBeside {
  readonly customs: Pick<CustomResources, 'kinds'>;
  /** Kinds that an option enables. */
  readonly optional: readonly Kind[];
}

/**
 * Creates an APIService for each built-in group and version at the start, and keeps one for each version of a group that definitions serve. Follows
 * kube-aggregator's autoregister controller and kube-apiserver's crd-autoregister (v1.36).
 */
export function keepApiServices(deps: OwnDeps, { customs, optional }: ServedBeside): () => void {
  const { store } = deps.world;
  for (const service of servicesOf([...kinds, ...optional])) createOwn(deps, apiServices, service);
  const sync = (): void => {
    keepCustom(deps, customs.kinds);
  };
  sync();
  return store.onChange((storage) => {
    if (storage === apiServices.storage || storage.endsWith('/customresourcedefinitions')) sync();
  });
}

/** Creates or restores the services of custom groups, and deletes those of groups that are no longer served. */
function keepCustom(deps: OwnDeps, served: readonly Kind[]): void {
  const { store } = deps.world;
  const services = new Map(
    groups(served)
      .flatMap(([group, versions]) => versions.map((version) => [group, version] as const))
      .filter(([group, version]) => !isBuiltIn(group, version))
      .map((place) => apiService(place, [1000, 100], 'true'))
      .map((service) => [nameOf(service), service]),
  );
  for (const service of services.values())
    putOwn(deps, apiServices, service, (standing) => {
      if (!isManaged(standing) || sameJson(specOf(standing), specOf(service))) return standing;
      return { ...standing, spec: specOf(service) };
    });
  for (const { key, object } of [...store.list(apiServices.storage)])
    if (isManaged(object) && !services.has(nameOf(object))) store.delete(apiServices.storage, key);
}

const isBuiltIn = (group: string, version: string): boolean =>
  kinds.some((kind) => kind.group === group && kind.version === version);

const isManaged = (service: JsonObject): boolean =>
  valueAt(service, 'metadata', 'labels', managedLabel) === 'true';
