import {
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import {
  cols,
  createdAgo,
  labelsText,
  printer,
  type Printers,
  selectorText,
  someOf,
} from './table-printer.ts';

function servicePorts(service: JsonObject): string {
  const ports = objectsAt(specOf(service), 'ports').map(
    (port) =>
      `${textOf(port['port'])}${port['nodePort'] ? `:${textOf(port['nodePort'])}` : ''}/${textOf(port['protocol'])}`,
  );
  return ports.join(',') || '<none>';
}

/** Returns the addresses of a load balancer. */
const ingressOf = (object: JsonObject): string[] => {
  const points = objectsAt(objectAt(statusOf(object), 'loadBalancer'), 'ingress');
  const all = points.map((one) => stringAt(one, 'ip') || stringAt(one, 'hostname'));
  return [...new Set(all.filter(Boolean))].sort();
};

function serviceExternal(service: JsonObject): string {
  const spec = specOf(service);
  const ips = listAt(spec, 'externalIPs').map(textOf);
  if (spec['type'] === 'ExternalName') return textOf(spec['externalName']);
  if (spec['type'] === 'LoadBalancer') return [...ingressOf(service), ...ips].join(',') || '<pending>';
  return ips.join(',') || '<none>';
}

const hostPort = (ip: string, port: unknown): string =>
  `${ip.includes(':') ? `[${ip}]` : ip}:${textOf(port)}`;

/** Follows `formatEndpoints`. */
function endpointsText(endpoints: JsonObject): string {
  const subsets = objectsAt(endpoints, 'subsets');
  const all = subsets.flatMap((subset) => {
    const ips = objectsAt(subset, 'addresses').map((one) => stringAt(one, 'ip'));
    const ports = objectsAt(subset, 'ports');
    return ports.length === 0 ? ips : ports.flatMap((port) => ips.map((ip) => hostPort(ip, port['port'])));
  });
  return subsets.length === 0 ? '<none>' : someOf(all);
}

/** Follows `formatHosts`. */
function hostsText(rules: readonly JsonObject[]): string {
  const hosts: string[] = [];
  for (const rule of rules) {
    if (hosts.length === 3) return `${hosts.join(',')} + ${rules.length - 3} more...`;
    if (stringAt(rule, 'host')) hosts.push(stringAt(rule, 'host'));
  }
  return hosts.join(',') || '*';
}

function parametersText(ingressClass: JsonObject): string {
  const parameters = specOf(ingressClass)['parameters'] as JsonObject | undefined;
  if (!parameters) return '<none>';
  const group = parameters['apiGroup'];
  return `${stringAt(parameters, 'kind')}${group === undefined ? '' : `.${textOf(group)}`}/${stringAt(parameters, 'name')}`;
}

function parentText(address: JsonObject): string {
  const parent = specOf(address)['parentRef'] as JsonObject | undefined;
  if (!parent) return '<none>';
  const [group, namespace] = [stringAt(parent, 'group'), stringAt(parent, 'namespace')];
  const what = `${stringAt(parent, 'resource')}${group && `.${group}`}`.toLowerCase();
  return `${what}${namespace && `/${namespace}`}/${stringAt(parent, 'name')}`;
}

/** Printers of network objects. Follow Kubernetes' printers (pkg/printers/internalversion, v1.36). */
export const networkPrinters: Printers = {
  services: printer(
    cols('Name', 'Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Age', 'Selector+'),
    (service, now) => [
      nameOf(service),
      textOf(valueAt(service, 'spec', 'type')),
      textOf(listAt(specOf(service), 'clusterIPs')[0]) || '<none>',
      serviceExternal(service),
      servicePorts(service),
      createdAgo(service, now),
      labelsText(objectAt(specOf(service), 'selector')),
    ],
  ),
  endpoints: printer(cols('Name', 'Endpoints', 'Age'), (one, now) => [
    nameOf(one),
    endpointsText(one),
    createdAgo(one, now),
  ]),
  'discovery.k8s.io/endpointslices': printer(
    cols('Name', 'AddressType', 'Ports', 'Endpoints', 'Age'),
    (one, now) => [
      nameOf(one),
      textOf(one['addressType']),
      someOf(objectsAt(one, 'ports').map((port) => textOf(port['port'] ?? port['name'] ?? '*'))) || '<unset>',
      someOf(objectsAt(one, 'endpoints').flatMap((each) => listAt(each, 'addresses').map(textOf))) ||
        '<unset>',
      createdAgo(one, now),
    ],
  ),
  'networking.k8s.io/ingresses': printer(
    cols('Name', 'Class', 'Hosts', 'Address', 'Ports', 'Age'),
    (one, now) => {
      const { ingressClassName } = specOf(one);
      return [
        nameOf(one),
        ingressClassName === undefined ? '<none>' : textOf(ingressClassName),
        hostsText(objectsAt(specOf(one), 'rules')),
        ingressOf(one).join(','),
        objectsAt(specOf(one), 'tls').length > 0 ? '80, 443' : '80',
        createdAgo(one, now),
      ];
    },
  ),
  'networking.k8s.io/ingressclasses': printer(cols('Name', 'Controller', 'Parameters', 'Age'), (one, now) => [
    nameOf(one),
    stringAt(specOf(one), 'controller'),
    parametersText(one),
    createdAgo(one, now),
  ]),
  'networking.k8s.io/networkpolicies': printer(cols('Name', 'Pod-Selector', 'Age'), (one, now) => [
    nameOf(one),
    selectorText(objectAt(specOf(one), 'podSelector')) || '<none>',
    createdAgo(one, now),
  ]),
  'networking.k8s.io/servicecidrs': printer(cols('Name', 'CIDRs', 'Age'), (one, now) => [
    nameOf(one),
    listAt(specOf(one), 'cidrs').map(textOf).join(','),
    createdAgo(one, now),
  ]),
  // a row has an age without a column, as kube-apiserver's has
  'networking.k8s.io/ipaddresses': printer(cols('Name', 'ParentRef'), (one, now) => [
    nameOf(one),
    parentText(one),
    createdAgo(one, now),
  ]),
};
