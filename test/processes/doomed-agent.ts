/** A process that starts one container and then waits to be killed: `node doomed-agent.ts DIR SCRIPT`. */
import { join } from 'node:path';
import { openRuntime } from '../providers/process/harness.ts';

const [dir = '', script = ''] = process.argv.slice(2);
const runtime = await openRuntime(dir);
const sandboxConfig = {
  metadata: { name: 'pod', namespace: 'default', uid: 'uid-1', attempt: 0 },
  logDirectory: join(dir, 'logs'),
};
const { podSandboxId = '' } = await runtime.runPodSandbox({ config: sandboxConfig });
const config = {
  metadata: { name: 'main', attempt: 0 },
  image: { image: 'any' },
  command: ['sh', '-c', script],
  logPath: 'main/0.log',
};
const { containerId = '' } = await runtime.createContainer({ podSandboxId, config, sandboxConfig });
await runtime.startContainer({ containerId });
process.stdout.write(`${containerId} ${String(runtime.container(containerId).pid)}\n`);
setInterval(() => undefined, 1000);
