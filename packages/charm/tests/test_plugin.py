from iclr26_core.testing import PluginContract


class TestPlugin(PluginContract):
    method = "charm"
