import { messageOf } from '../../../src/base/errors.ts';
import type { Pod } from '../../../src/kube/types.ts';
import {
  checkResolvConf,
  type DnsEvent,
  parseResolvConf,
  podDns,
} from '../../../src/containers/volumes/dns.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly op: 'parse' | 'pod' | 'check';
  readonly text: string;
  readonly pod: Pod;
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly nodeIPs: readonly string[];
  readonly resolvConf: string;
  readonly resolvPath: 'file' | 'missing' | 'none' | '';
}

const texts = (events: readonly DnsEvent[]): readonly string[] =>
  events.map(({ reason, message }) => `Warning ${reason} ${message}`);
const sorted = (options: readonly string[]): readonly string[] => options.toSorted();

function run(input: Input): unknown {
  switch (input.op) {
    case 'parse': {
      const parsed = parseResolvConf(input.text);
      return { ...parsed, options: sorted(parsed.options) };
    }
    case 'check':
      return { events: texts(checkResolvConf(input.resolvConf, input.clusterDomain, 'DIR/resolv.conf')) };
    case 'pod': {
      const node = {
        clusterDns: input.clusterDNS,
        clusterDomain: input.clusterDomain,
        nodeIPs: input.nodeIPs,
        ...(input.resolvPath === 'file' && { resolvConf: { text: input.resolvConf } }),
        ...(input.resolvPath === 'missing' && {
          resolvConf: { error: 'open DIR/missing: no such file or directory' },
        }),
      };
      const { dns, events } = podDns(input.pod, node);
      return { dns: { ...dns, options: sorted(dns.options) }, events: texts(events) };
    }
  }
}

export const replay: Replay = ({ in: input, out }) => {
  try {
    return check(out, run(input as Input), { operation: input });
  } catch (reason) {
    return check((out as { error: string }).error, messageOf(reason), { operation: input });
  }
};
