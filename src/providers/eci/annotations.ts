import { tableOf } from '../../base/own.ts';
import { AgentError } from '../../base/errors.ts';
import type { Pod } from '../../kube/types.ts';
import type { EciParameters, EciValue } from './api.ts';

/** The prefix of annotations by which one pod's group is tuned. */
export const annotationPrefix = 'k8s.aliyun.com/eci-';

type Read = (text: string) => EciValue;

const text: Read = (value) => value;
const list: Read = (value) => value.split(',').map((item) => item.trim());
const flag: Read = (value) => {
  if (value === 'true' || value === 'false') return value === 'true';
  throw new Error('must be "true" or "false"');
};
const number: Read = (value) => {
  const read = Number(value);
  if (value.trim() !== '' && Number.isFinite(read) && read >= 0) return read;
  throw new Error('must be a number of at least 0');
};

/** Annotations after the prefix, the parameter that each sets, and how its text is read. Others under the prefix are refused. */
const parameters: Readonly<Record<string, readonly [parameter: string, read: Read]>> = tableOf({
  'use-specs': ['InstanceType', text],
  'instance-type': ['InstanceType', text],
  'spot-strategy': ['SpotStrategy', text],
  'spot-price-limit': ['SpotPriceLimit', number],
  'spot-duration': ['SpotDuration', number],
  'ram-role-name': ['RamRoleName', text],
  'eip-instanceid': ['EipInstanceId', text],
  'with-eip': ['AutoCreateEip', flag],
  'eip-bandwidth': ['EipBandwidth', number],
  'security-group': ['SecurityGroupId', text],
  vswitch: ['VSwitchId', text],
  zone: ['ZoneId', text],
  'resource-group-id': ['ResourceGroupId', text],
  'ephemeral-storage': ['EphemeralStorage', number],
  'image-snapshot-id': ['ImageSnapshotId', text],
  'auto-match-image-cache': ['AutoMatchImageCache', flag],
  'cpu-architecture': ['CpuArchitecture', text],
  'ingress-bandwidth': ['IngressBandwidth', number],
  'egress-bandwidth': ['EgressBandwidth', number],
  'ipv6-address-count': ['Ipv6AddressCount', number],
  'ntp-server': ['NtpServer', list],
});

/** Set by the provider itself. */
const own = new Set(['instance-id']);

/**
 * annotationParameters are the parameters that a pod's annotations set.
 *
 * @throws {AgentError} `invalid_argument` naming an annotation that does not exist, or its wrong value
 */
export function annotationParameters(pod: Pod): EciParameters {
  const found: Record<string, EciValue> = {};
  for (const [key, value] of Object.entries(pod.metadata?.annotations ?? {})) {
    if (!key.startsWith(annotationPrefix)) continue;
    const name = key.slice(annotationPrefix.length);
    if (own.has(name)) continue;
    const rule = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (!rule)
      throw fault(
        key,
        `is not known; there are: ${Object.keys(parameters)
          .map((one) => annotationPrefix + one)
          .join(', ')}`,
      );
    try {
      found[rule[0]] = rule[1](value);
    } catch (reason) {
      throw fault(key, `is "${value}"; it ${reason instanceof Error ? reason.message : 'is wrong'}`);
    }
  }
  return found;
}

const fault = (key: string, what: string): AgentError =>
  new AgentError('invalid_argument', `annotation ${key} ${what}`);
