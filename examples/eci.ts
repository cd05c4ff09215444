/**
 * A node at the double of Alibaba Cloud's ECI, with an API server of its own: pods are container groups that are played by the names of their
 * images. With a real account, leave out the double and give your region, keys, security group and vSwitch.
 *
 *   npm run example -- eci
 */
import { runNode, systemClock } from '../src/index.ts';
import { startFakeEci } from '../src/providers/eci/fake/index.ts';
import { EciProvider } from '../src/providers/eci/index.ts';

const cloud = await startFakeEci();
const provider = new EciProvider({
  endpoint: cloud.url,
  region: 'cn-hangzhou',
  accessKeyId: 'fake-id',
  accessKeySecret: 'fake-secret',
  securityGroup: 'sg-1',
  vSwitch: 'vsw-1',
  nodeName: 'eci',
  quota: { cpu: '100', memory: '200Gi', pods: '50' },
  clock: systemClock,
});
const stop = new AbortController();
process.once('SIGINT', () => {
  stop.abort();
});
const node = await runNode({ nodeName: 'eci', provider, server: 'embedded' }, stop.signal);
console.log(`node eci is ready; its API server: ${node.server?.url ?? ''}`);
if (process.argv.includes('--once')) stop.abort();
await node.done.catch(() => undefined);
provider.close();
await cloud.stop();
