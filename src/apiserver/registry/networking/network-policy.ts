import { BlockList } from 'node:net';
import {
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  required,
  unsupported,
} from '../../../kube/validation/field-error.ts';
import { portNameRule, portNumberFaults } from '../../../kube/validation/name-rules.ts';
import { cidrBlock, labelSelector } from '../../../kube/validation/shared.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  textOf,
} from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { asSelector } from '../validation/selector-rules.ts';
import { numberAt } from '../validation/value-rules.ts';

const protocols = ['TCP', 'UDP', 'SCTP'];
const policyTypes = ['Ingress', 'Egress'];
const directions = [
  ['ingress', 'from'],
  ['egress', 'to'],
] as const;

const portDefaults = (rule: JsonObject): JsonObject => {
  const ports = objectsAt(rule, 'ports');
  return ports.length === 0
    ? rule
    : { ...rule, ports: ports.map((port) => ({ ...port, protocol: port['protocol'] ?? 'TCP' })) };
};

function defaults(policy: JsonObject): JsonObject {
  const spec = specOf(policy);
  const rules = directions.flatMap(([key]) => {
    const list = objectsAt(spec, key);
    return list.length === 0 ? [] : [[key, list.map(portDefaults)] as const];
  });
  const types = objectsAt(spec, 'egress').length > 0 ? policyTypes : ['Ingress'];
  return {
    ...policy,
    spec: {
      ...spec,
      ...Object.fromEntries(rules),
      policyTypes: listAt(spec, 'policyTypes').length > 0 ? spec['policyTypes'] : types,
    },
  };
}

function* numbered(field: string, port: number, end: number | undefined): Faults {
  for (const why of portNumberFaults(port)) yield invalid(`${field}.port`, port, why);
  if (end === undefined) return;
  if (end < port) yield invalid(`${field}.endPort`, port, 'must be greater than or equal to `port`');
  for (const why of portNumberFaults(end)) yield invalid(`${field}.endPort`, end, why);
}

function* portFaults(field: string, entry: JsonObject): Faults {
  const { protocol, port } = entry;
  const end = numberAt(entry, 'endPort');
  if (protocol !== undefined && !protocols.includes(textOf(protocol)))
    yield unsupported(`${field}.protocol`, protocol, protocols);
  if (typeof port === 'number') {
    yield* numbered(field, port, end);
    return;
  }
  const named = typeof port === 'string';
  if (end !== undefined)
    yield invalid(
      `${field}.endPort`,
      end,
      `may not be specified when \`port\` is ${named ? 'non-numeric' : 'not specified'}`,
    );
  if (named) yield* invalidEach(`${field}.port`, port, portNameRule(port));
}

/** True for a CIDR block that lies within another one and is smaller. */
function isWithin(inner: string, outer: string): boolean {
  const [ip = '', bits = '0'] = inner.split('/');
  const [net = '', most = '0'] = outer.split('/');
  const family = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');
  const block = new BlockList();
  block.addSubnet(net, Number(most), family(net));
  return family(ip) === family(net) && block.check(ip, family(ip)) && Number(most) < Number(bits);
}

function* blockFaults(field: string, block: JsonObject, before: ReadonlySet<string>): Faults {
  const cidr = stringAt(block, 'cidr');
  if (cidr === '') {
    yield required(`${field}.cidr`);
    return;
  }
  const check = (at: string, text: string): Faults => cidrBlock(at, text);
  const wrong = [...check('', cidr)].length > 0;
  if (!before.has(cidr)) yield* check(`${field}.cidr`, cidr);
  if (wrong) return;
  for (const [i, except] of listAt(block, 'except').map(textOf).entries()) {
    const at = `${field}.except[${i}]`;
    if (!before.has(except)) yield* check(at, except);
    if ([...check('', except)].length === 0 && !isWithin(except, cidr))
      yield invalid(at, except, 'must be a strict subset of `cidr`');
  }
}

function* peerFaults(field: string, peer: JsonObject, before: ReadonlySet<string>): Faults {
  const selectors = ['podSelector', 'namespaceSelector'].filter(
    (key) => isObject(objectAt(peer, key)) && Object.hasOwn(peer, key),
  );
  for (const key of selectors) yield* labelSelector(`${field}.${key}`, asSelector(objectAt(peer, key)));
  const block = peer['ipBlock'];
  if (isObject(block)) yield* blockFaults(`${field}.ipBlock`, block, before);
  else if (selectors.length === 0) yield required(field, 'must specify a peer');
  if (isObject(block) && selectors.length > 0)
    yield forbidden(field, 'may not specify both ipBlock and another peer');
}

/** Returns the address blocks of a policy, which an update tolerates. */
function blocksOf(policy: JsonObject | undefined): ReadonlySet<string> {
  const peers = directions.flatMap(([key, peer]) =>
    objectsAt(specOf(policy), key).flatMap((rule) => objectsAt(rule, peer)),
  );
  return new Set(
    peers.flatMap((peer) => {
      const block = objectAt(peer, 'ipBlock');
      return [stringAt(block, 'cidr'), ...listAt(block, 'except').map(textOf)];
    }),
  );
}

/** Validates a network policy. Follows Kubernetes `ValidateNetworkPolicySpec` (pkg/apis/networking/validation, v1.36). */
function* faults(policy: JsonObject, old: JsonObject | undefined): Faults {
  const spec = specOf(policy);
  const before = blocksOf(old);
  yield* labelSelector('spec.podSelector', asSelector(spec['podSelector']));
  for (const [key, peer] of directions)
    for (const [i, rule] of objectsAt(spec, key).entries()) {
      const field = `spec.${key}[${i}]`;
      for (const [j, port] of objectsAt(rule, 'ports').entries())
        yield* portFaults(`${field}.ports[${j}]`, port);
      for (const [j, one] of objectsAt(rule, peer).entries())
        yield* peerFaults(`${field}.${peer}[${j}]`, one, before);
    }
  const types = listAt(spec, 'policyTypes');
  if (types.length > policyTypes.length)
    yield invalid('spec.policyTypes', types, 'may not specify more than two policyTypes');
  else
    for (const [i, type] of types.entries())
      if (!policyTypes.includes(textOf(type))) yield unsupported(`spec.policyTypes[${i}]`, type, policyTypes);
}

/** Strategy of network policies. */
export const networkPolicyStrategy: Strategy = strategyOf(builtIn('networkpolicies', 'networking.k8s.io'), {
  defaults,
  faults,
});
