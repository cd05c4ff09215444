import { decodePodList, decodeSinglePod, staticPodName } from '../../../src/config/static-pod.ts';
import { namespaceOf, nameOf } from '../../../src/kube/names.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly op: 'single' | 'list' | 'name';
  readonly nodeName: string;
  readonly text: string;
  readonly name: string;
  readonly node: string;
}

interface Output {
  readonly error?: string;
}

/** Raw text: recognised or not, the words of the rejection, and what was made of it. */
export const replay: Replay = (line) => {
  const { op, nodeName, text, name, node } = line['in'] as Input;
  if (op === 'name') return check(line['out'], staticPodName(name, node));
  const decode = op === 'single' ? decodeSinglePod : decodePodList;
  const result = decode(text, { source: '/manifests/a.yaml', isFile: true, nodeName });
  const { error = '' } = line['out'] as Output;
  if ('fault' in result) {
    const dump = error.includes('<Go dump of the object>');
    const actual = dump ? error : result.fault.message + (/ in scheme "SCHEME"$/.exec(error)?.[0] ?? '');
    return check(line['out'], { parsed: result.parsed, error: actual }, { operation: text });
  }
  const pods = result.pods.map((pod) => ({
    name: nameOf(pod),
    namespace: namespaceOf(pod),
    annotations: pod.metadata?.annotations,
    tolerations: pod.spec?.tolerations,
  }));
  return check(line['out'], { parsed: true, ...(op === 'single' ? pods[0] : { pods }) }, { operation: text });
};
