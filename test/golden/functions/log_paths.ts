import {
  containerLogPath,
  containerLogsDirectory,
  podLogsDirectory,
  podUidFromLogsDirectory,
  restartCountFromLogs,
} from '../../../src/containers/paths/log-paths.ts';
import { basename } from 'node:path';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly root: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly container: string;
  readonly restartCount: number;
  readonly dirName?: string;
  readonly files?: readonly string[] | null;
}

export const replay: Replay = ({ in: given, out }) =>
  check(out, answer(given as Input), { operation: given });

function answer(input: Input): unknown {
  if ('dirName' in input) return { uid: podUidFromLogsDirectory(input.dirName ?? '') };
  if ('files' in input) return { error: null, restartCount: restartCountFromLogs(input.files ?? []) };
  const pod = { metadata: { name: input.name, namespace: input.namespace, uid: input.uid } };
  const podDir = podLogsDirectory(input.root, pod);
  return {
    containerDir: containerLogsDirectory(input.root, pod, input.container),
    logPath: containerLogPath(input.container, input.restartCount),
    podDir,
    uidParsedBack: podUidFromLogsDirectory(basename(podDir)),
  };
}
