import type { HostPort } from '../../base/host-port.ts';
import { goQuote } from '../../go/go-quote.ts';
import { type JsonObject, objectsAt, specOf, stringAt, valueAt } from '../../apimachinery/json.ts';
import { notFound, StatusError } from '../../apimachinery/status-error.ts';
import { keyOf, type Store } from '../storage/store.ts';

/** The service that a webhook is reached by. */
export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

const unavailable = (message: string): StatusError => new StatusError(503, 'ServiceUnavailable', message);

/** Returns the first ready address of a service behind one of its ports: from its slices, or else from its Endpoints. */
function endpointOf(store: Store, at: ServiceReference, portName: string): HostPort | undefined {
  for (const { object } of store.list('discovery.k8s.io/endpointslices', `${at.namespace}/`)) {
    if (valueAt(object, 'metadata', 'labels', 'kubernetes.io/service-name') !== at.name) continue;
    const port = objectsAt(object, 'ports').find((one) => stringAt(one, 'name') === portName);
    const ready = objectsAt(object, 'endpoints').find((one) => valueAt(one, 'conditions', 'ready') !== false);
    const [host] = (ready?.['addresses'] ?? []) as readonly string[];
    if (port && host !== undefined) return { host, port: Number(port['port']) };
  }
  for (const subset of objectsAt(store.get('endpoints', keyOf(at.namespace, at.name))?.object, 'subsets')) {
    const [address] = objectsAt(subset, 'addresses');
    const port = objectsAt(subset, 'ports').find((one) => stringAt(one, 'name') === portName);
    if (address && port) return { host: stringAt(address, 'ip'), port: Number(port['port']) };
  }
  return undefined;
}

/** Returns the port of a service by its number. @throws {StatusError} 503 */
function portOf(service: JsonObject, { name, port }: ServiceReference): JsonObject {
  const found = objectsAt(specOf(service), 'ports').find((one) => one['port'] === port);
  if (!found) throw unavailable(`no service port ${port} found for service ${goQuote(name)}`);
  return found;
}

/**
 * Returns the address that serves a service: that of a ready endpoint, as cluster addresses lead nowhere without a service proxy. Follows
 * apiserver `ResolveEndpoint`.
 *
 * @throws {StatusError} 404 for a missing service, 503 for one without the port or without a ready endpoint
 */
export function resolveService(store: Store, at: ServiceReference): HostPort {
  const service = store.get('services', keyOf(at.namespace, at.name))?.object;
  if (!service) throw notFound({ kind: 'service', name: at.name });
  const spec = specOf(service);
  if (stringAt(spec, 'type') === 'ExternalName')
    return { host: stringAt(spec, 'externalName'), port: at.port };
  const endpoint = endpointOf(store, at, stringAt(portOf(service, at), 'name'));
  if (!endpoint) throw unavailable(`no endpoints available for service ${goQuote(at.name)}`);
  return endpoint;
}
