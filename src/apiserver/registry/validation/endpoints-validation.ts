import { isIP } from 'node:net';
import {
  dns1123Label,
  dns1123Subdomain,
  portNumberFaults,
  qualifiedNameRule,
} from '../../../kube/validation/name-rules.ts';
import { ipFaults, nonSpecialFaults } from './address-rules.ts';
import { type JsonObject, objectsAt, stringAt } from '../../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../../apimachinery/status-error.ts';

const protocols = ['SCTP', 'TCP', 'UDP'];

/** Sets the default protocol, TCP. */
export const endpointsDefaults = (endpoints: JsonObject): JsonObject =>
  endpoints['subsets'] === undefined
    ? endpoints
    : {
        ...endpoints,
        subsets: objectsAt(endpoints, 'subsets').map((subset) => ({
          ...subset,
          ...(subset['ports'] !== undefined && {
            ports: objectsAt(subset, 'ports').map((port) => ({
              ...port,
              protocol: stringAt(port, 'protocol') || 'TCP',
            })),
          }),
        })),
      };

function addressFaults(address: JsonObject, field: string): FieldFault[] {
  const [ip, hostname, node] = ['ip', 'hostname', 'nodeName'].map((key) => stringAt(address, key)) as [
    string,
    string,
    string,
  ];
  return [
    ...ipFaults(`${field}.ip`, ip),
    ...(hostname === ''
      ? []
      : dns1123Label(hostname).map((why) => fault.invalid(`${field}.hostname`, hostname, why))),
    ...(address['nodeName'] === undefined
      ? []
      : dns1123Subdomain(node).map((why) => fault.invalid(`${field}.nodeName`, node, why))),
    ...(isIP(ip) === 0
      ? [fault.invalid(`${field}.ip`, ip, 'must be a valid IP address')]
      : nonSpecialFaults(`${field}.ip`, ip)),
  ];
}

function portFaults(port: JsonObject, field: string, alone: boolean): FieldFault[] {
  const [name, protocol, app] = [stringAt(port, 'name'), stringAt(port, 'protocol'), port['appProtocol']];
  const named = dns1123Label(name).map((why) => fault.invalid(`${field}.name`, name, why));
  return [
    ...(name !== '' ? named : alone ? [] : [fault.required(`${field}.name`)]),
    ...portNumberFaults(Number(port['port'] ?? 0)).map((why) =>
      fault.invalid(`${field}.port`, port['port'] ?? 0, why),
    ),
    ...(protocols.includes(protocol) ? [] : [fault.unsupported(`${field}.protocol`, protocol, protocols)]),
    ...(typeof app === 'string'
      ? qualifiedNameRule(app).map((why) => fault.invalid(`${field}.appProtocol`, app, why))
      : []),
  ];
}

/** Validates endpoints with their defaults. Follows Kubernetes `ValidateEndpoints` (pkg/apis/core/validation, v1.36). */
export function endpointsFaults(endpoints: JsonObject): FieldFault[] {
  return objectsAt(endpoints, 'subsets').flatMap((subset, i) => {
    const field = `subsets[${i}]`;
    const [ready, waiting] = [objectsAt(subset, 'addresses'), objectsAt(subset, 'notReadyAddresses')];
    const ports = objectsAt(subset, 'ports');
    const none = ready.length === 0 && waiting.length === 0;
    return [
      ...(none ? [fault.required(field, 'must specify `addresses` or `notReadyAddresses`')] : []),
      ...ready.flatMap((one, j) => addressFaults(one, `${field}.addresses[${j}]`)),
      ...waiting.flatMap((one, j) => addressFaults(one, `${field}.notReadyAddresses[${j}]`)),
      ...ports.flatMap((port, j) => portFaults(port, `${field}.ports[${j}]`, ports.length < 2)),
    ];
  });
}
