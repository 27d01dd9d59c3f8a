import json
import os
import socket
import subprocess
import sys
import urllib.request

sys.path.append(os.path.dirname(os.path.dirname(__file__)))

from openai import OpenAI  # noqa: E402

from cells import run  # noqa: E402
from common import KEY, URL  # noqa: E402
from batch_common import until  # noqa: E402
from openai_batches import define  # noqa: E402

MASTER = "sk-of-the-proxy"
AT = {"api_base": f"{URL}/openai/v1", "api_key": KEY}
CONFIG = {
    "model_list": [
        {
            "model_name": "tiny",
            "litellm_params": {"model": "openai/tiny", **AT},
            "model_info": {"mode": "batch"},
        }
    ],
    # For requests that name no model.
    "files_settings": [{"custom_llm_provider": "openai", **AT}],
}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def is_alive(port):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=5).status == 200
    except OSError:
        return False


port = free_port()
config = os.path.join(os.environ["HOME"], "config.yaml")
with open(config, "w") as file:
    json.dump(CONFIG, file)
# The program `litellm` would name the folder in which the packages were installed.
command = [sys.executable, "-c", "import litellm; litellm.run_server()", "--config", config]
# LITELLM_LOCAL_MODEL_COST_MAP prevents a download of model prices.
env = {**os.environ, "LITELLM_MASTER_KEY": MASTER, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
proxy = subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(port)], env=env, stdout=sys.stderr)
try:
    until(lambda: is_alive(port) or proxy.poll() is not None)
    client = OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=MASTER, max_retries=0)
    define("openai", client)
    # The proxy does not decode its own ids in `after`.
    define("openai, x-litellm-model", client, headers={"x-litellm-model": "tiny"}, has_pages=False)
    run()
finally:
    proxy.terminate()
    proxy.wait(30)
