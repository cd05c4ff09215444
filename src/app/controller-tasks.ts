/** What each controller of `--controllers` does, without loading the API server. */
export { controllerTasks } from '../apiserver/controllers/controller-names.ts';
