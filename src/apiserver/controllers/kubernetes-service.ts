import { every } from '../../base/clock.ts';
import { isIP } from 'node:net';
import { type JsonObject, objectAt, objectsAt, sameJson, valueAt } from '../../apimachinery/json.ts';
import { builtIn } from '../../apimachinery/kinds.ts';
import { keyOf } from '../storage/store.ts';
import type { ControllerDeps } from './controllers.ts';
import { type OwnDeps, putOwn } from './own-objects.ts';

/** Time between two looks at the service and its endpoints, as kube-apiserver has it. */
const intervalMs = 10_000;

/** Where clients reach the server. */
export interface Reachability {
  readonly port: number;
  /** IP address that the endpoints name; absent, or a loopback address: the service has no endpoints. */
  readonly address?: string | undefined;
}

type Deps = OwnDeps & Pick<ControllerDeps, 'clock'>;

const place = { namespace: 'default', name: 'kubernetes' };

/**
 * Makes the service `default/kubernetes`, by which pods find the server, its Endpoints and its EndpointSlice, now and every 10 seconds. Follows
 * kube-apiserver's kubernetesservice controller and the reconciler of its endpoints (v1.36).
 */
export function keepKubernetesService(deps: Deps, at: Reachability): () => void {
  const sync = (): void => {
    putService(deps, at.port);
    if (at.address !== undefined && !isLoopback(at.address)) putEndpoints(deps, at.address, at.port);
  };
  sync();
  return every(deps.clock, intervalMs, sync);
}

const isLoopback = (address: string): boolean => address.startsWith('127.') || address === '::1';

/** Creates the service, or gives the one that is there the server's current port. */
export function putService(deps: OwnDeps, port: number): void {
  const ports = [{ name: 'https', protocol: 'TCP', port: 443, targetPort: port }];
  const labels = { component: 'apiserver', provider: 'kubernetes' };
  const spec = {
    ports,
    clusterIP: deps.world.services.first,
    type: 'ClusterIP',
    sessionAffinity: 'None',
    ipFamilyPolicy: 'SingleStack',
  };
  const object = { metadata: { ...place, labels }, spec };
  putOwn(deps, builtIn('services'), object, (standing) => {
    const own = objectAt(standing, 'spec');
    if (sameJson(own['ports'], ports) && own['type'] === 'ClusterIP') return standing;
    return { ...standing, spec: { ...own, ports, type: 'ClusterIP' } };
  });
}

const mirrorLabel = 'endpointslice.kubernetes.io/skip-mirror';
const serviceLabel = 'kubernetes.io/service-name';

function putEndpoints(deps: Deps, address: string, port: number): void {
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  const subsets = [{ addresses: [{ ip: address }], ports }];
  const endpoints = { metadata: { ...place, labels: { [mirrorLabel]: 'true' } }, subsets };
  putOwn(deps, builtIn('endpoints'), endpoints, (standing) =>
    sameJson(objectsAt(standing, 'subsets'), subsets) && hasLabel(standing, mirrorLabel, 'true')
      ? standing
      : withLabel({ ...standing, subsets }, mirrorLabel, 'true'),
  );
  const addressType = isIP(address) === 6 ? 'IPv6' : 'IPv4';
  const addresses = [{ addresses: [address], conditions: { ready: true } }];
  const slice = {
    metadata: { ...place, labels: { [serviceLabel]: place.name } },
    addressType,
    endpoints: addresses,
    ports,
  };
  const kind = builtIn('endpointslices', 'discovery.k8s.io');
  const { storage } = kind;
  const before = deps.world.store.get(storage, keyOf(place.namespace, place.name))?.object;
  // the type of the addresses cannot be changed
  if (before && before['addressType'] !== addressType)
    deps.world.store.delete(storage, keyOf(place.namespace, place.name));
  putOwn(deps, kind, slice, (standing) =>
    sameJson(objectsAt(standing, 'endpoints'), addresses) &&
    sameJson(objectsAt(standing, 'ports'), ports) &&
    hasLabel(standing, serviceLabel, place.name)
      ? standing
      : withLabel({ ...standing, endpoints: addresses, ports }, serviceLabel, place.name),
  );
}

const hasLabel = (object: JsonObject, label: string, value: string): boolean =>
  valueAt(object, 'metadata', 'labels', label) === value;

function withLabel(object: JsonObject, label: string, value: string): JsonObject {
  const metadata = objectAt(object, 'metadata');
  return {
    ...object,
    metadata: { ...metadata, labels: { ...objectAt(metadata, 'labels'), [label]: value } },
  };
}
