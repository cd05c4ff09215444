import type { Random } from '../../../base/random.ts';
import { type JsonObject, objectAt, objectsAt, stringAt } from '../../../apimachinery/json.ts';
import { fault, internalError, invalid } from '../../../apimachinery/status-error.ts';
import type { Store } from '../../storage/store.ts';
import type { ServiceAddresses } from '../../request/write-context.ts';

/** The API server's address in the cluster. */
export const firstServiceAddress = '10.97.0.1';
const [firstPort, lastPort] = [30_000, 32_767];

const refused = (name: string, field: string, value: unknown, why: string): Error =>
  invalid('Service', undefined, name, [fault.invalid(field, value, why)]);

/** Allocates cluster addresses in `10.97.0.0/16` and node ports from 30000 to 32767; those of stored services are in use. */
export function serviceAddresses(store: Store, random: Random, prefix = '10.97'): ServiceAddresses {
  const specs = (): JsonObject[] => [...store.list('services')].map(({ object }) => objectAt(object, 'spec'));
  const below = (most: number): number => Math.floor(random.float() * most);
  return {
    allocate(name, wanted = '') {
      const taken = new Set(specs().map((spec) => stringAt(spec, 'clusterIP')));
      const free = (): string => {
        for (;;) {
          const address = `${prefix}.${below(256)}.${1 + below(254)}`;
          if (!taken.has(address) && address !== firstServiceAddress) return address;
        }
      };
      const address = wanted === '' ? free() : givenAddress(name, wanted, { taken, prefix });
      if (name === '') throw unowned(wanted, address);
      return address;
    },
    nodePort(name, wanted, use = 'traffic') {
      const taken = new Set(
        specs().flatMap((spec) => [
          Number(spec['healthCheckNodePort'] ?? 0),
          ...objectsAt(spec, 'ports').map((port) => Number(port['nodePort'] ?? 0)),
        ]),
      );
      if (wanted) return use === 'health' ? givenHealthPort(wanted, taken) : givenPort(name, wanted, taken);
      for (;;) {
        const port = firstPort + below(lastPort - firstPort + 1);
        if (!taken.has(port)) return port;
      }
    },
  };
}

/** Returns the error for a service without a name: an address is stored under its service's name. */
function unowned(wanted: string, address: string): Error {
  const what = ['failed to allocate IP', wanted].filter(Boolean).join(' ');
  const why = `IPAddress.networking.k8s.io "${address}" is invalid: spec.parentRef.name: Required value`;
  return refused('', 'spec.clusterIPs', [wanted], `${what}: ${why}`);
}

function givenAddress(
  name: string,
  wanted: string,
  { taken, prefix }: { readonly taken: ReadonlySet<string>; readonly prefix: string },
): string {
  const why = wanted.startsWith(`${prefix}.`)
    ? 'provided IP is already allocated'
    : `the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${prefix}.0.0/16`;
  if (!wanted.startsWith(`${prefix}.`) || taken.has(wanted))
    throw refused(name, 'spec.clusterIPs', [wanted], `failed to allocate IP ${wanted}: ${why}`);
  return wanted;
}

function givenPort(name: string, wanted: number, taken: ReadonlySet<number>): number {
  const why = portFault(wanted, taken);
  if (why !== undefined) throw refused(name, 'spec.ports[0].nodePort', wanted, why);
  return wanted;
}

/** Returns why a node port is not available. */
function portFault(wanted: number, taken: ReadonlySet<number>): string | undefined {
  if (wanted < firstPort || wanted > lastPort)
    return `provided port is not in the valid range. The range of valid ports is ${firstPort}-${lastPort}`;
  return taken.has(wanted) ? 'provided port is already allocated' : undefined;
}

/** Returns a requested health check port; kube-apiserver reports an unavailable one as an internal error. */
function givenHealthPort(wanted: number, taken: ReadonlySet<number>): number {
  const why = portFault(wanted, taken);
  if (why === undefined) return wanted;
  throw internalError(`failed to allocate requested HealthCheck NodePort ${wanted}: ${why}`);
}
