import { plegState, podEvents } from '../../../src/pleg/diff.ts';
import type { RuntimeContainerState, RuntimePod } from '../../../src/provider/runtime-pod.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly old: RuntimeContainerState | '';
  readonly new: RuntimeContainerState | '';
  readonly sandbox: boolean;
}

export const replay: Replay = (line) => {
  const { old, new: current, sandbox } = line['in'] as Input;
  const events = podEvents('u', podWith(old, sandbox), podWith(current, sandbox));
  return check(line['out'], {
    events: events.map(({ type, containerId }) => ({ type, data: containerId })),
    oldState: plegState(old || undefined),
    newState: plegState(current || undefined),
  });
};

function podWith(state: RuntimeContainerState | '', sandbox: boolean): RuntimePod {
  const items = state === '' ? [] : [{ id: 'c', name: 'c', state }];
  return {
    uid: 'u',
    name: 'p',
    namespace: 'ns',
    containers: sandbox ? [] : items,
    sandboxes: sandbox ? items : [],
  };
}
