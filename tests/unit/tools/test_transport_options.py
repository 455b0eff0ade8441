from tools import transport_options


def test_files_are_as_the_engine_declares_options():
    hint = "run `python -m tools.transport_options`"
    for name, text in transport_options.texts().items():
        assert (transport_options.FOLDER / name).read_text() == text, hint
