/** A separate program, so that it reads the CAs of its environment: lists pods, requests a manifest and prints the results. */
import { connectionFromKubeconfig } from '../../src/api/kubeconfig/kube-client.ts';
import { createApiClient } from '../../src/api/rest/http-client.ts';
import { podResource } from '../../src/api/resources.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { messageOf } from '../../src/base/errors.ts';
import { fetchManifest } from '../../src/config/http-source.ts';

const [, , kubeconfig = '', url = ''] = process.argv;
const client = createApiClient(await connectionFromKubeconfig(clock, kubeconfig), { clock });
const listed = client.list(podResource).then(({ kind }) => kind, messageOf);
const fetched = fetchManifest(url, { headers: {}, maxBytes: 1e6 }).then(({ status }) => status, messageOf);
console.log(JSON.stringify([await listed, await fetched]));
await client.close();
