import { isIP } from 'node:net';
import { dns1123Subdomain } from '../../../kube/validation/name-rules.ts';
import {
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  required,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { canonicalIp } from '../../../kube/ip.ts';
import { ipAddress } from '../../../kube/validation/shared.ts';
import {
  type JsonObject,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { ipWarnings } from './address-rules.ts';

const modes = ['Proxy', 'VIP'];

/** Returns the load balancers in the status of a Service or an Ingress. */
export const balancersOf = (object: JsonObject): readonly JsonObject[] =>
  objectsAt(objectAt(statusOf(object), 'loadBalancer'), 'ingress');

const fieldOf = (index: number): string => `status.loadBalancer.ingress[${index}]`;

/** Reports whether a text is an IP address, also one with leading zeros. */
export const isIp = (text: string): boolean => isIP(canonicalIp(text)) !== 0 && !text.includes('%');

function* hostFaults(field: string, host: string): Faults {
  if (host === '') return;
  yield* invalidEach(field, host, dns1123Subdomain(host));
  if (isIp(host)) yield invalid(field, host, 'must be a DNS name, not an IP address');
}

/** Validates how the traffic for an address is delivered. */
function* modeFaults(field: string, balancer: JsonObject): Faults {
  const mode = balancer['ipMode'];
  const hasIp = stringAt(balancer, 'ip') !== '';
  if (mode === undefined) {
    if (hasIp) yield required(field, 'must be specified when `ip` is set');
  } else if (!hasIp) yield forbidden(field, 'may not be specified when `ip` is not set');
  else if (!modes.includes(textOf(mode))) yield unsupported(field, mode, modes);
}

/** Validates load balancers; addresses that were there before stay valid. */
function* balancerFaults(object: JsonObject, old: JsonObject, hasModes: boolean): Faults {
  const before = balancersOf(old).map((one) => stringAt(one, 'ip'));
  for (const [i, one] of balancersOf(object).entries()) {
    const ip = stringAt(one, 'ip');
    if (ip !== '' && !before.includes(ip)) yield* ipAddress(`${fieldOf(i)}.ip`, ip);
    if (hasModes) yield* modeFaults(`${fieldOf(i)}.ipMode`, one);
    yield* hostFaults(`${fieldOf(i)}.hostname`, stringAt(one, 'hostname'));
  }
}

/** Validates the load balancers of an ingress. Follows Kubernetes `ValidateIngressLoadBalancerStatus` (pkg/apis/networking/validation, v1.36). */
export const ingressBalancerFaults = (ingress: JsonObject, old: JsonObject): Faults =>
  balancerFaults(ingress, old, false);

/** Validates the load balancers of a service. Follows Kubernetes `ValidateLoadBalancerStatus` (pkg/apis/core/validation, v1.36). */
export function* serviceBalancerFaults(service: JsonObject, old: JsonObject): Faults {
  if (specOf(service)['type'] === 'LoadBalancer') yield* balancerFaults(service, old, true);
  else if (balancersOf(service).length > 0)
    yield forbidden('status.loadBalancer.ingress', "may only be used when `spec.type` is 'LoadBalancer'");
}

/** Returns warnings about addresses of load balancers that are not in canonical form. */
export const balancerWarnings = (object: JsonObject): readonly string[] =>
  balancersOf(object).flatMap((one, i) => {
    const ip = stringAt(one, 'ip');
    return ip === '' ? [] : ipWarnings(fieldOf(i), ip);
  });
