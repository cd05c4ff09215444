/**
 * A whole node of a provider in twenty lines: pods are records in memory.
 *
 *   node examples/rooms.ts
 */
import { runNode } from '../src/index.ts';
import type { Pod, PodLifecycleHandler } from '../src/vkubelet/index.ts';

export class Rooms implements PodLifecycleHandler {
  readonly rooms = new Map<string, Pod>();

  async createPod(pod: Pod): Promise<void> {
    this.rooms.set(`${pod.metadata?.namespace}/${pod.metadata?.name}`, {
      ...pod,
      status: { phase: 'Running' },
    });
  }
  async updatePod(pod: Pod): Promise<void> {
    return this.createPod(pod);
  }
  async deletePod(pod: Pod): Promise<void> {
    this.rooms.delete(`${pod.metadata?.namespace}/${pod.metadata?.name}`);
  }
  async getPod(namespace: string, name: string): Promise<Pod | undefined> {
    return this.rooms.get(`${namespace}/${name}`);
  }
  async getPodStatus(namespace: string, name: string): Promise<Pod['status']> {
    return this.rooms.get(`${namespace}/${name}`)?.status;
  }
  async getPods(): Promise<readonly Pod[]> {
    return [...this.rooms.values()];
  }
}

if (process.argv[1] === import.meta.filename) {
  const node = await runNode({ nodeName: 'rooms', provider: new Rooms(), server: 'embedded' });
  console.log(`node rooms is ready at ${node.server?.url}`);
  await node.stop();
}
