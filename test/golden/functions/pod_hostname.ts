import { messageOf } from '../../../src/base/errors.ts';
import { hostnameAndDomain } from '../../../src/kube/hostname.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly name: string;
  readonly namespace: string;
  readonly hostname: string;
  readonly subdomain: string;
  readonly hostnameOverride: string | null;
  readonly clusterDomain: string;
}

export const replay: Replay = ({ in: given, out }) => {
  const input = given as Input;
  const { name, namespace, hostname, subdomain, hostnameOverride } = input;
  const spec = {
    containers: [],
    hostname,
    subdomain,
    ...(hostnameOverride !== null && { hostnameOverride }),
  };
  try {
    return check(out, hostnameAndDomain({ metadata: { name, namespace }, spec }, input.clusterDomain), {
      operation: input,
    });
  } catch (reason) {
    return check(out, { error: messageOf(reason) }, { operation: input });
  }
};
