import { conditionOf } from '../../apimachinery/conditions.ts';
import { every } from '../../base/clock.ts';
import { isIP } from 'node:net';
import {
  type JsonObject,
  listAt,
  nameOf,
  namespaceOf,
  sameJson,
  specOf,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import { builtIn } from '../../apimachinery/kinds.ts';
import { seconds } from '../../apimachinery/times.ts';
import type { ControllerDeps } from './controllers.ts';
import { applyOwnStatus, createOwn, type OwnDeps, ownObject } from './own-objects.ts';

const ranges = builtIn('servicecidrs', 'networking.k8s.io');
const addresses = builtIn('ipaddresses', 'networking.k8s.io');
const services = builtIn('services');
const intervalMs = 10_000;
const managedBy = 'ipaddress.kubernetes.io/managed-by';
const allocator = 'ipallocator.k8s.io';

/**
 * Creates the ServiceCIDR `kubernetes` with the range of service addresses, now and every 10 seconds, and sets its condition `Ready`. Follows
 * kube-apiserver's default ServiceCIDR controller (v1.36).
 */
export function keepServiceCidr(deps: OwnDeps & Pick<ControllerDeps, 'clock'>): () => void {
  const object = { metadata: { name: 'kubernetes' }, spec: { cidrs: [deps.world.services.range] } };
  const sync = (): void => {
    createOwn(deps, ranges, object);
    const standing = ownObject(deps, ranges, object) ?? object;
    if (valueAt(standing, 'metadata', 'deletionTimestamp') !== undefined) return;
    const ready = conditionOf(standing, 'Ready');
    const isDecided = ready?.['status'] === 'True' || ready?.['status'] === 'False';
    if (isDecided || !sameJson(specOf(standing)['cidrs'], object.spec.cidrs)) return;
    const condition = {
      type: 'Ready',
      status: 'True',
      lastTransitionTime: seconds(deps.clock.now()),
      message: 'Kubernetes default Service CIDR is ready',
    };
    applyOwnStatus({ ...deps, manager: 'kubernetes-service-cidr-controller' }, ranges, {
      metadata: object.metadata,
      status: { conditions: [condition] },
    });
  };
  sync();
  return every(deps.clock, intervalMs, sync);
}

/** Keeps an IPAddress for each cluster address of a service, made before the service, as kube-apiserver's allocator of addresses does (v1.36). */
export function keepAddresses(deps: OwnDeps): () => void {
  const { store } = deps.world;
  const add = (service: JsonObject): void => {
    for (const address of addressesOf(service)) createOwn(deps, addresses, addressOf(service, address));
  };
  const remove = (service: JsonObject, current: readonly string[]): void => {
    for (const address of addressesOf(service).filter((one) => !current.includes(one)))
      store.delete(addresses.storage, address);
  };
  for (const { object } of [...store.list(services.storage)]) add(object);
  deps.world.services.claim = add;
  const off = store.onChange((storage, changes) => {
    if (storage !== services.storage) return;
    for (const { type, entry, before } of changes) {
      if (before) remove(before.object, type === 'DELETED' ? [] : addressesOf(entry.object));
    }
  });
  return () => {
    deps.world.services.claim = undefined;
    off();
  };
}

const addressesOf = (service: JsonObject): readonly string[] =>
  listAt(specOf(service), 'clusterIPs')
    .map(textOf)
    .filter((address) => isIP(address) !== 0);

const addressOf = (service: JsonObject, address: string): JsonObject => ({
  metadata: {
    name: address,
    labels: {
      'ipaddress.kubernetes.io/ip-family': isIP(address) === 6 ? 'IPv6' : 'IPv4',
      [managedBy]: allocator,
    },
  },
  spec: {
    parentRef: { resource: 'services', namespace: namespaceOf(service), name: nameOf(service) },
  },
});
